"""Connections outside of the pool: statements of the schema, long snapshots, notifications."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any

import psycopg
import structlog
from psycopg import sql

from app.adapters.concurrency import raise_if_cancelled
from app.adapters.db.engine import plain_url
from app.adapters.db.json_values import use_fast_json
from app.kernel.errors import describe
from app.settings.settings import Settings

_LOCK_WAIT = "10min"
"""Longest wait of a definition for earlier transactions; it does not block others."""
_MEMORY = "256MB"
_LIMITS = {
    "statement_timeout": "0",
    "lock_timeout": _LOCK_WAIT,
    "maintenance_work_mem": _MEMORY,
    # Parallel workers need shared memory, which is often too small in containers.
    "max_parallel_maintenance_workers": "0",
}
Definition = sql.Composed
"""A complete statement with its names and values."""
Connection = psycopg.Connection[tuple[Any, ...]]
_RECONNECT_SECONDS = 1.0
log = structlog.get_logger()


class DefinitionError(RuntimeError):
    """The database is unreachable or refuses a statement; earlier statements took effect."""


async def define(url: str, settings: Settings, *statements: Definition) -> None:
    """Run statements of the schema that need their own transactions.

    They have no time limit, and use one core; behind a pooler, the pooler's own limits apply.
    """
    direct, options = direct_address(url, settings, _LIMITS)
    try:
        async with await psycopg.AsyncConnection.connect(
            direct,
            autocommit=True,
            application_name="open-memory-bank-indexes",
            connect_timeout=settings.tuning.database_connect_timeout_seconds,
            **options,
        ) as connection:
            for statement in statements:
                await connection.execute(statement, prepare=False)
    except psycopg.Error as error:
        raise DefinitionError(describe(error)) from None


def direct_address(
    url: str, settings: Settings, limits: Mapping[str, str]
) -> tuple[str, dict[str, Any]]:
    """Return the database's address, bypassing a pooler if possible, and the limits that apply."""
    if settings.listen_url is not None:
        url = settings.listen_url.get_secret_value()
    elif settings.database_behind_pooler:
        return plain_url(url), {}
    return plain_url(url), {"options": " ".join(f"-c {name}={limits[name]}" for name in limits)}


@contextmanager
def open_snapshot(url: str, settings: Settings, seconds: float) -> Iterator[Connection]:
    """Open a read-only snapshot for reads of minutes; use it in a thread, because calls block.

    Behind a pooler, its own limit applies in place of `seconds` a statement.
    """
    limits = {
        "statement_timeout": f"{max(seconds * 1000, 1):.0f}",
        "timezone": "UTC",
        "jit": "off",
    }
    address, options = direct_address(url, settings, limits)
    connection = psycopg.connect(
        address,
        prepare_threshold=None,
        connect_timeout=settings.tuning.database_connect_timeout_seconds,
        application_name="open-memory-bank-export",
        **options,
    )
    with closing(connection):
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        use_fast_json(connection)
        yield connection


class Notices:
    """The notifications of a channel; `are_heard` while its listener is connected."""

    def __init__(self) -> None:
        self.are_heard = False
        self._came = asyncio.Event()

    def come(self) -> None:
        """Record a notification, which ends the waits."""
        self._came.set()

    def clear(self) -> None:
        """Forget earlier notifications."""
        self._came.clear()

    async def wait(self, seconds: float) -> None:
        """Wait for a notification since the last `clear`, or for some seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._came.wait()


async def listen(url: str, channel: str, notices: Notices) -> None:
    """Pass notifications on until cancelled; reconnect if the server goes away.

    The connection must be direct: a transaction pooler drops LISTEN. A lost notification only
    delays the work until the next poll.
    """
    while True:
        try:
            await _listen_once(url, channel, notices)
        except psycopg.Error as error:
            raise_if_cancelled()
            log.debug("listen.reconnect", error=type(error).__name__)
        await asyncio.sleep(_RECONNECT_SECONDS)


async def _listen_once(url: str, channel: str, notices: Notices) -> None:
    connection = await psycopg.AsyncConnection.connect(plain_url(url), autocommit=True)
    async with connection:
        statement = sql.SQL("listen {}").format(sql.Identifier(channel))
        await connection.execute(statement)
        notices.are_heard = True
        notices.come()
        try:
            async for _ in connection.notifies():
                notices.come()
        finally:
            notices.are_heard = False
            # From now on, waiting tasks must poll.
            notices.come()
