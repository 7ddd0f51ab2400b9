"""Checks of the database: its readiness for probes, and the connections that it allows."""

import asyncio
from datetime import datetime, timedelta

import structlog
from sqlalchemy import text

from app.adapters.db import schema
from app.adapters.db.schema import wanted_revision
from app.adapters.db.server import MAX_CONNECTIONS
from app.adapters.db.session import Database
from app.kernel.clock import Clock
from app.kernel.errors import ServiceError
from app.settings.settings import Settings

OK = "ok"
STANDBY = "standby"
"""The state of a database whose primary is away, while a standby answers reads."""
_AWAY = "unavailable"
_LOOK_INTERVAL = timedelta(seconds=30)
"""Time for which a complete schema counts as complete; an incomplete one is always rechecked."""
_LOOK_SECONDS = 5.0
"""Time limit for the database's answer; a database that hangs is unavailable."""
_WRITE_INTERVAL = timedelta(seconds=10)
_WRITE_SECONDS = 3.0
"""Time limit for a write; it waits for nothing unless the database does."""
_WRITE = text(
    "insert into ticks (name, last_slot) values ('readiness', statement_timestamp())"
    " on conflict (name) do update set last_slot = excluded.last_slot"
)
log = structlog.get_logger()
_ALLOWED = text(
    "select current_setting('max_connections')::int"
    " - current_setting('superuser_reserved_connections')::int"
    " - current_setting('reserved_connections')::int"
)
_FOR_OTHERS = 20
"""Connections of the embedded Postgres for commands such as backups."""
_LISTENING = 1


async def ping(db: Database) -> None:
    """Send a trivial query."""
    async with db.snapshot() as session:
        await session.execute(text("select 1"))


async def schema_state(db: Database, *, looks_for_parts: bool = True) -> str:
    """Return the state of the schema: `OK`, or a description."""
    wanted = await asyncio.to_thread(wanted_revision)
    async with db.snapshot() as session:
        revisions = await session.execute(text("select version_num from alembic_version"))
        if set(revisions.scalars()) != {wanted}:
            return "not migrated"
        if looks_for_parts:
            lacking = schema.missing(await session.execute(schema.look()))
            if lacking:
                return f"incomplete ({schema.listed(lacking)})"
    return OK


class Readiness:
    """The readiness checks of one process."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._looked: datetime | None = None
        self._wrote: datetime | None = None
        self._writes = OK

    async def checks(self) -> dict[str, str]:
        """Return the state of the database, its schema and its writes: `OK` or a description."""
        try:
            async with asyncio.timeout(_LOOK_SECONDS):
                state = await self._check_schema()
        except (ServiceError, TimeoutError):
            return {"database": _AWAY}
        if state == OK and self._db.is_primary_away:
            return {"database": STANDBY, "schema": state, "writes": _AWAY}
        states = {"database": OK, "schema": state}
        # Writes are checked only with the schema in place.
        return {**states, "writes": await self._check_writes()} if state == OK else states

    async def _check_schema(self) -> str:
        if self._db.fence.closed.is_set():
            return "of another release"
        is_due = self._is_due(self._looked, _LOOK_INTERVAL)
        state = await schema_state(self._db, looks_for_parts=is_due)
        if is_due and state == OK:
            self._looked = self._clock.now()
        return state

    async def _check_writes(self) -> str:
        if not self._is_due(self._wrote, _WRITE_INTERVAL):
            return self._writes
        self._wrote = self._clock.now()
        try:
            async with asyncio.timeout(_WRITE_SECONDS), self._db.transaction() as session:
                await session.execute(_WRITE)
        except ServiceError as error:
            self._writes = error.message
        except TimeoutError:
            self._writes = "The database takes too long to write."
        else:
            self._writes = OK
        return self._writes

    async def lost_nodes(self) -> str:
        """Return the addresses of the nodes that do not answer; others are served."""
        return ", ".join(sorted(await self._db.nodes.look()))

    def _is_due(self, last: datetime | None, interval: timedelta) -> bool:
        return last is None or abs(self._clock.now() - last) >= interval


def most_connections(settings: Settings, processes: int) -> int:
    """Return the most connections that a number of processes open."""
    pool = settings.database_pool_size + settings.tuning.database_pool_overflow
    return processes * (pool + MAX_CONNECTIONS + _LISTENING)


def room_for(settings: Settings, processes: int) -> int:
    """Return the connection limit of an embedded Postgres for a number of servers and a worker."""
    return _FOR_OTHERS + most_connections(settings, processes + 1)


async def warn_if_short(db: Database, settings: Settings, processes: int) -> None:
    """Log a warning if the server allows fewer connections than several processes may open.

    Does nothing behind a pooler. Must not be called inside a transaction.
    """
    if processes == 1 or settings.database_behind_pooler:
        return
    async with db.snapshot() as session:
        allowed = (await session.execute(_ALLOWED)).scalar_one()
    needed = most_connections(settings, processes)
    if needed > allowed:
        log.warning("database.connections_short", needed=needed, allowed=allowed)
