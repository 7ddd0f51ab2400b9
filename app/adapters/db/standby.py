"""A streaming standby of the database, which answers reads while the primary is away.

The process decides once for all requests whether the primary is away; then none waits for it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import NoReturn, TypeVar

import psycopg
import structlog
from prometheus_client import Counter, Gauge
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.adapters.concurrency import (
    Shared,
    consume_exception,
    in_background,
    raise_if_cancelled,
)
from app.adapters.db.engine import (
    Connect,
    Connection,
    connect_arguments,
    open_engine,
    opener_of,
    plain_url,
)
from app.adapters.db.errors import first_line, is_away, unavailable
from app.adapters.db.migrate import SchemaError, check_address
from app.adapters.db.schema import wanted_revision
from app.adapters.db.server import DatabaseServer
from app.kernel.errors import Reason, Unavailable
from app.kernel.reads import current_reads
from app.settings.settings import Settings

log = structlog.get_logger()

_READS = Counter(
    "memory_bank_standby_reads_total",
    "Snapshots and hot statements that the standby has answered.",
)
_AWAY = Gauge(
    "memory_bank_primary_away",
    "1 while the primary cannot be reached and the standby answers reads, else 0.",
)
_AWAY_AFTER = 2
"""Number of consecutive failed connections after which the primary counts as away."""
_LOOK_SECONDS = 0.5
"""Pause between two checks of the primary; short, because writes resume after such a check."""
_ANSWER_SECONDS = 2
"""Longest wait for the primary's answer to a check; a primary that is only slow is not away."""
_AGE_SECONDS = 1.0
"""Time between two queries for the standby's progress; in between, its age grows with time."""

_IDENTITY = """
    select (select system_identifier from pg_control_system()),
        (select oid::bigint from pg_database where datname = current_database())
"""
# The time of a commit is the primary's. A standby that started after the primary went away may not
# have replayed any commit; it holds at least the state of the last checkpoint.
_PROGRESS = text("""
    select
        case when pg_is_in_recovery() then
            extract(epoch from statement_timestamp() - coalesce(
                pg_last_xact_replay_timestamp(),
                (select checkpoint_time from pg_control_checkpoint())))
        else 0 end,
        (select max(version_num) from alembic_version)
""")

_T = TypeVar("_T")
Identity = tuple[int, int]
"""The system identifier of a cluster and the id of a database in it, which standbys share."""


class OtherDatabaseError(psycopg.OperationalError):
    """The read URL names a different database from the service's."""


class Standby:
    """The standby of one process, which answers while `is_primary_away`.

    Attributes:
        turn: number of changes between primary and standby so far.
    """

    def __init__(self, server: DatabaseServer, primary: DatabaseServer, revision: str) -> None:
        self.server = server
        self._primary = primary
        self.is_primary_away = False
        self.turn = 0
        self._revision = revision
        self._failures = 0
        self._looked: float | None = None
        self._as_of = 0.0
        """The time of the last replayed commit, by the monotonic clock."""
        self._looking = Shared(self._look)

    def check_primary(self) -> None:
        """Refuse at once, instead of waiting, if the primary is known to be away."""
        if self.is_primary_away:
            raise unavailable()

    async def read(self, attempt: Callable[[DatabaseServer], Awaitable[_T]]) -> _T:
        """Read from the primary; while it is away, from the standby, if the request allows it.

        `attempt` may run again, so it must change nothing.

        Raises:
            Unavailable: the primary is away, and the standby may not or cannot answer.
            psycopg.Error, sqlalchemy.exc.SQLAlchemyError: raised by the attempt.
        """
        reads = current_reads()
        if reads is None:
            self.check_primary()
            return await attempt(self._primary)
        if not self.is_primary_away:
            try:
                return await attempt(self._primary)
            except (DBAPIError, psycopg.Error) as error:
                if not is_away(error):
                    raise
            if await self._is_reached():
                return await attempt(self._primary)
        reads.note(await self._age())
        _READS.inc()
        return await attempt(self.server)

    async def _is_reached(self) -> bool:
        while not self.is_primary_away:
            try:
                async with self._primary.engine.connect():
                    self._reached()
                    return True
            except DBAPIError as error:
                if not is_away(error):
                    raise
                self._failed()
        return False

    async def _age(self) -> timedelta:
        """Return an upper bound of the time since the last replayed commit."""
        if self._looked is None or monotonic() - self._looked >= _AGE_SECONDS:
            await self._looking.result()
        return timedelta(seconds=max(0.0, monotonic() - self._as_of))

    async def _look(self) -> None:
        began = monotonic()
        async with self.server.reading.connect() as connection:
            seconds, revision = (await connection.execute(_PROGRESS)).one()
        if revision != self._revision:
            message = "The standby has the schema of another release."
            raise Unavailable(message, Reason.DATABASE_UNAVAILABLE, retry_after_seconds=1)
        self._as_of = began - float(seconds)
        self._looked = began

    async def watch(self, connect: Connect) -> None:
        """Check the primary at intervals until cancelled, on a separate connection."""
        while True:
            try:
                connection = await connect()
            except psycopg.Error as error:
                raise_if_cancelled()
                # A server that refuses a connection is not away.
                (self._failed if is_away(error) else self._reached)()
                await asyncio.sleep(_LOOK_SECONDS)
                continue
            try:
                await self._keep_asking(connection)
            except (TimeoutError, psycopg.Error):
                raise_if_cancelled()
                self._failed()

    async def _keep_asking(self, connection: Connection) -> NoReturn:
        asked: asyncio.Task[None] | None = None
        try:
            while True:
                self._reached()
                await asyncio.sleep(_LOOK_SECONDS)
                asked = asyncio.create_task(_ask(connection))
                asked.add_done_callback(consume_exception)
                await asyncio.wait({asked}, timeout=_ANSWER_SECONDS)
                if not asked.done():
                    raise TimeoutError
                asked.result()
        finally:
            if asked is None or asked.done():
                await connection.close()
            else:
                # Not awaited: if the server does not answer, the driver takes long to give up.
                asked.cancel()

    def _reached(self) -> None:
        self._failures = 0
        if self.is_primary_away:
            opener_of(self._primary.engine).resume()
            self._change(is_away=False)
            log.warning("primary.back")

    def _failed(self) -> None:
        self._failures += 1
        if self._failures >= _AWAY_AFTER and not self.is_primary_away:
            self._change(is_away=True)
            log.error("primary.away", reads="standby")
            opener_of(self._primary.engine).give_up()

    def _change(self, *, is_away: bool) -> None:
        self.is_primary_away = is_away
        self.turn += 1
        self._looked = None
        _AWAY.set(is_away)


async def _ask(connection: Connection) -> None:
    try:
        await connection.execute(b"select")
    except BaseException:
        await connection.close()
        raise


@asynccontextmanager
async def followed_standby(
    read_url: str, primary: DatabaseServer, primary_url: str, settings: Settings
) -> AsyncIterator[Standby]:
    """Open a standby, and check the primary at intervals during the block.

    The standby may be away at the start: connections open on demand, and each one is checked.

    Raises:
        SchemaError: the read URL is malformed, or does not name a standby of the primary.
    """
    url = check_address(read_url, "MEMORY_BANK_READ_URL")
    arguments = connect_arguments(settings) | {"connect_timeout": _ANSWER_SECONDS}
    connect = partial(
        psycopg.AsyncConnection.connect, plain_url(primary_url), autocommit=True, **arguments
    )
    check = partial(_check_identity, await _identity_of_primary(connect))
    server = DatabaseServer(open_engine(url, settings, check))
    standby = Standby(server, primary, await asyncio.to_thread(wanted_revision))
    try:
        await _look_at_start(server)
        async with in_background(standby.watch(connect)):
            yield standby
    finally:
        await server.close()


async def _identity_of_primary(connect: Connect) -> Identity:
    try:
        connection = await connect()
        try:
            return await _identity(connection)
        finally:
            await connection.close()
    except psycopg.Error as error:
        raise SchemaError(
            "The database does not tell its system identifier, so its standby cannot be verified:"
            f" {error}"
        ) from error


async def _identity(connection: Connection) -> Identity:
    row = await (await connection.execute(_IDENTITY)).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


async def _check_identity(wanted: Identity, connection: Connection) -> None:
    # Autocommit avoids a transaction, which would have to be ended here.
    await connection.set_autocommit(True)
    identity = await _identity(connection)
    await connection.set_autocommit(False)
    if identity != wanted:
        raise OtherDatabaseError(
            "MEMORY_BANK_READ_URL must name a streaming standby of the database of"
            f" MEMORY_BANK_DATABASE_URL (system identifier {wanted[0]}, database {wanted[1]}); got"
            f" system identifier {identity[0]}, database {identity[1]}."
        )


async def _look_at_start(server: DatabaseServer) -> None:
    try:
        async with server.engine.connect() as connection:
            follows = (await connection.execute(text("select pg_is_in_recovery()"))).scalar_one()
    except DBAPIError as error:
        if isinstance(error.orig, OtherDatabaseError):
            raise SchemaError(str(error.orig)) from error
        log.warning("standby.unreachable", error=first_line(error.orig))
        return
    if not follows:
        log.warning("standby.follows_none")
