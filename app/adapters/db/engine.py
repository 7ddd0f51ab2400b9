"""Database addresses as written by operators, and connection pools of them."""

import asyncio
import re
import select
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any, NamedTuple, cast
from urllib.parse import quote, unquote
from weakref import WeakSet

import psycopg
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from app.adapters.db.json_values import use_fast_json
from app.settings.settings import Settings

_URL = re.compile(r"(?P<scheme>[A-Za-z0-9_+.-]*)://(?P<rest>.*)", re.DOTALL)
_SCHEMES = frozenset({"postgresql", "postgres"})
_NAMED = re.compile(r"(?P<user>[^:/]*):(?P<password>.*)@(?P<rest>[^@]*)", re.DOTALL)
_QUOTED = re.compile(r'".*"', re.DOTALL)
_FORMS = (
    "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, several hosts as HOST:PORT,HOST:PORT, or"
    " 'host=HOST port=PORT user=USER password=PASSWORD dbname=DATABASE'; in a URL, special"
    " characters of the password are written as %XX"
)
_MAX_PORT = 65_535
_FRESH_SECONDS = 1.0
"""Idle time after which a connection is checked, since its server may have vanished."""
_USED = "used"
"""Key of the time at which a connection came back to the pool."""


class AddressError(ValueError):
    """A malformed address; the message does not repeat possible secrets."""


def plain_url(url: str) -> str:
    """Return an address in libpq's form, with the special characters of a password encoded.

    Raises:
        AddressError: the text is not a Postgres address.
    """
    match = _URL.fullmatch(url.strip())
    if match is None:
        return _read(url.strip())
    if match["scheme"].partition("+")[0].lower() not in _SCHEMES:
        raise AddressError(f"it begins with another scheme than postgresql://; {_FORMS}")
    plain = f"postgresql://{match['rest']}"
    try:
        return _read(plain)
    except AddressError:
        named = _NAMED.fullmatch(match["rest"])
        if named is None:
            raise
        user, password = (quote(unquote(named[part]), safe="") for part in ("user", "password"))
        return _read(f"postgresql://{user}:{password}@{named['rest']}")


def _read(address: str) -> str:
    try:
        parameters = conninfo_to_dict(address)
    except psycopg.ProgrammingError as error:
        # libpq's message may quote a part of the password.
        why = _QUOTED.sub('"..."', str(error).strip())
        raise AddressError(f"{why}; {_FORMS}") from None
    if not address:
        raise AddressError(f"it is empty; {_FORMS}")
    ports = [port for port in str(parameters.get("port", "")).split(",") if port]
    if not all(port.isdecimal() and 0 < int(port) <= _MAX_PORT for port in ports):
        raise AddressError(f"its port is no number from 1 to {_MAX_PORT}; {_FORMS}")
    if "@" in str(parameters.get("host", "")) or (
        # Possibly a part of the password: libpq ends it at the first slash.
        "@" in str(parameters.get("dbname", "")) and "://" in address and "%40" not in address
    ):
        raise AddressError(f"it holds an @ that belongs to no user or password; {_FORMS}")
    return address


TRANSACTION_LIMIT = "transaction_limit"
"""Option of an engine: its `TransactionLimit`."""
_DIALECT = "postgresql+psycopg://"
"""Only the dialect: the driver itself connects, because it supports addresses of several hosts."""
Connection = psycopg.AsyncConnection[Any]
Connect = Callable[[], Awaitable[Connection]]
Check = Callable[[Connection], Awaitable[None]]
OPENER = "opener"
"""The option of a pool that has its opener."""


class TransactionLimit(NamedTuple):
    """The longest time of a transaction that may write vectors; a setting of connections or not."""

    milliseconds: int
    is_default: bool


def _limit(settings: Settings) -> TransactionLimit:
    milliseconds = int(settings.tuning.database_transaction_max_seconds * 1000)
    return TransactionLimit(milliseconds, is_default=not settings.database_behind_pooler)


def connect_arguments(settings: Settings) -> dict[str, Any]:
    """Return the driver's arguments for a connection of the service, except its address."""
    arguments: dict[str, Any] = {
        "connect_timeout": settings.tuning.database_connect_timeout_seconds,
        "application_name": "open-memory-bank",
    }
    if settings.database_behind_pooler:
        if not settings.database_pooler_prepared:
            arguments["prepare_threshold"] = None
    else:
        milliseconds = int(settings.database_statement_timeout_seconds * 1000)
        # No JIT: statements are short, and compiling one takes longer than running it.
        arguments["options"] = (
            f"-c statement_timeout={milliseconds}"
            f" -c transaction_timeout={_limit(settings).milliseconds}"
            " -c timezone=UTC -c jit=off"
        )
    return arguments


def open_engine(url: str, settings: Settings, check: Check | None = None) -> AsyncEngine:
    """Open a pool without connecting yet; `check` raises for an unusable new connection."""
    connect = partial(
        psycopg.AsyncConnection.connect, plain_url(url), **connect_arguments(settings)
    )
    opener = Opener(connect if check is None else partial(_checked, connect, check))
    engine = create_async_engine(
        _DIALECT,
        async_creator=opener.open,
        pool_size=settings.database_pool_size,
        max_overflow=settings.tuning.database_pool_overflow,
        pool_timeout=settings.tuning.database_pool_timeout_seconds,
        # Parameters contain the text of memories, which must not get into messages and logs.
        hide_parameters=True,
        execution_options={OPENER: opener, TRANSACTION_LIMIT: _limit(settings)},
    )
    _check_idle(engine.sync_engine)
    return engine


def _check_idle(engine: Engine) -> None:
    """Make the pool check a connection before its use, if it may have been lost."""
    # The pool's own check asks before each transaction, which is a large part of a short one.
    dialect = engine.dialect

    def note(_: object, entry: ConnectionPoolEntry) -> None:
        entry.info[_USED] = monotonic()

    def check(connection: DBAPIConnection, entry: ConnectionPoolEntry, _: object) -> None:
        used = entry.info.get(_USED)
        if used is None or is_fresh(cast("Connection", entry.driver_connection), used):
            return
        try:
            dialect.do_ping(connection)
        except psycopg.Error as error:
            # The others are likely to be broken, too.
            raise InvalidatePoolError from error

    event.listen(engine, "checkin", note)
    event.listen(engine, "checkout", check)


def is_fresh(connection: Connection, used: float) -> bool:
    """Return True if an idle connection, last used at a monotonic time, needs no check."""
    if connection.closed or monotonic() - used >= _FRESH_SECONDS:
        return False
    # A server that ends a connection says so, and nothing else arrives at an idle one.
    arrivals = select.poll()
    arrivals.register(connection.fileno(), select.POLLIN)
    return not arrivals.poll(0)


async def _checked(connect: Connect, check: Check) -> Connection:
    connection = await connect()
    try:
        await check(connection)
    except BaseException:
        await connection.close()
        raise
    return connection


def open_blocking_engine(url: str, **arguments: Any) -> Engine:  # noqa: ANN401 - the driver's
    """Open an engine without a pool, for commands that may block."""
    # Prepared statements would stay on a pooler's connection and break other clients.
    connect = partial(psycopg.connect, plain_url(url), prepare_threshold=None, **arguments)
    return create_engine(_DIALECT, creator=connect, poolclass=NullPool, hide_parameters=True)


class Opener:
    """Opens connections, and ends all at once: a vanished server would hold up its callers."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._opening: set[asyncio.Task[Connection]] = set()
        self._opened: WeakSet[Connection] = WeakSet()
        self._has_given_up = False

    async def open(self) -> Connection:
        """Open a connection."""
        if self._has_given_up:
            raise _given_up()
        # A task of its own, so that `give_up` ends it and not its caller.
        opening = asyncio.create_task(_awaited(self._connect))
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)
        try:
            connection = await opening
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if caller is not None and not caller.cancelling():
                raise _given_up() from None
            opening.add_done_callback(_drop)
            raise
        use_fast_json(connection)
        self._opened.add(connection)
        return connection

    def give_up(self) -> None:
        """End all connections, and open no more until `resume`."""
        self._has_given_up = True
        for opening in self._opening:
            opening.cancel()
        for connection in list(self._opened):
            shut_down(connection)

    def resume(self) -> None:
        """Open connections again."""
        self._has_given_up = False


def opener_of(engine: AsyncEngine) -> Opener:
    """Return the opener of a pool."""
    opener: Opener = engine.sync_engine.get_execution_options()[OPENER]
    return opener


async def _awaited(connect: Connect) -> Connection:
    return await connect()


def _drop(opening: asyncio.Task[Connection]) -> None:
    """Close a connection that was opened as its caller was cancelled."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().pgconn.finish()


def _given_up() -> psycopg.OperationalError:
    return psycopg.OperationalError("the server is away")


def shut_down(connection: Connection) -> None:
    """Have both sides of a connection's socket end; the driver that owns it then closes it."""
    with suppress(OSError, psycopg.Error):
        ending = socket.socket(fileno=connection.fileno())
        try:
            ending.shutdown(socket.SHUT_RDWR)
        finally:
            ending.detach()
