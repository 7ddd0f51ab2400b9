"""Whether the database can be used, as probes are told; what costs more is kept for a moment."""

import asyncio
from datetime import datetime, timedelta

from sqlalchemy import text

from app.adapters.db import schema
from app.adapters.db.migrate import wanted_revision
from app.adapters.db.session import Database
from app.kernel.clock import Clock
from app.kernel.errors import ServiceError

OK = "ok"
_AWAY = "unavailable"
_LOOK_INTERVAL = timedelta(seconds=30)
"""How long a schema that was whole is taken to be so; one that is not is looked at each time."""
_LOOK_SECONDS = 5.0
"""How long a database may take to answer; one that hangs is away, too."""
_WRITE_INTERVAL = timedelta(seconds=10)
_WRITE_SECONDS = 3.0
"""How long a write may take; it waits for nobody, unless the database does."""
_WRITE = text(
    "insert into ticks (name, last_slot) values ('readiness', statement_timestamp())"
    " on conflict (name) do update set last_slot = excluded.last_slot"
)


async def ping(db: Database) -> None:
    """Ask the database for nothing.

    Raises:
        ServiceError: it does not answer.
    """
    async with db.snapshot() as session:
        await session.execute(text("select 1"))


class Readiness:
    """The checks that one process makes of its database."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._looked: datetime | None = None
        self._wrote: datetime | None = None
        self._writes = OK

    async def checks(self) -> dict[str, str]:
        """Return the state of the database, its schema and its writes; each `OK`, or in words."""
        try:
            async with asyncio.timeout(_LOOK_SECONDS):
                state = await self._schema()
        except (ServiceError, TimeoutError):
            return {"database": _AWAY}
        found = {"database": OK, "schema": state}
        # Without its schema, there is nothing to write to.
        return {**found, "writes": await self._written()} if state == OK else found

    async def _schema(self) -> str:
        """Return the state of the schema.

        Raises:
            ServiceError: the database cannot be asked.
        """
        wanted = await asyncio.to_thread(wanted_revision)
        async with self._db.snapshot() as session:
            found = await session.execute(text("select version_num from alembic_version"))
            if set(found.scalars()) != {wanted}:
                return "not migrated"
            if self._is_due(self._looked, _LOOK_INTERVAL):
                lacking = schema.missing(await session.execute(schema.look()))
                if lacking:
                    return f"incomplete ({schema.listed(lacking)})"
                self._looked = self._clock.now()
        return OK

    async def _written(self) -> str:
        """Return whether the database takes writes, which is tried now and then."""
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

    def _is_due(self, last: datetime | None, interval: timedelta) -> bool:
        return last is None or abs(self._clock.now() - last) >= interval
