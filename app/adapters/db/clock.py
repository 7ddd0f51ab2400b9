"""Time by the clock of the database, which all processes share.

Whatever deletes for good, ends a window or sweeps asks `database_time` or `database_now` in its
own transaction. All else follows the database by `DatabaseClock`, the process's clock set right.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic

import structlog
from prometheus_client import Gauge
from sqlalchemy import ColumnElement, DateTime, func, literal, select
from typing_extensions import override

from app.adapters.db.session import Database, Session, clock_of
from app.kernel.clock import Clock
from app.kernel.failures import describe

log = structlog.get_logger()

_SKEW = Gauge(
    "memory_bank_clock_skew_seconds",
    "How far the clock of the process is ahead of the database's; less than 0: behind.",
)
_PAUSE_SECONDS = 30.0
_LONGEST_TRIP = timedelta(seconds=2)
"""A round trip that takes longer tells too little of what time it is."""
_WARNING_SECONDS = 60.0

DatabaseTime = ColumnElement[datetime]
"""A moment in a statement that the database fills in: no process has a say in it."""


def database_time(session: Session) -> DatabaseTime:
    """Return the present moment of the database, for a statement of the session.

    It is that of the statement's start, which can be looked up in an index.
    """
    clock, kind = clock_of(session), DateTime(timezone=True)
    return func.statement_timestamp(type_=kind) if clock is None else literal(clock.now(), kind)


async def database_now(session: Session) -> datetime:
    """Return the present moment of the database."""
    return (await session.execute(select(database_time(session)))).scalar_one()


@dataclass
class Skew:
    """The difference between the clocks of the process and of the database.

    Attributes:
        most: how far it may be.
        found: how far it was ahead when it was last measured; None: it has not been.
    """

    most: timedelta = timedelta.max
    found: timedelta | None = None

    @property
    def is_too_large(self) -> bool:
        """Whether it is larger than it may be."""
        return self.found is not None and abs(self.found) > self.most

    @override
    def __str__(self) -> str:
        seconds = round((self.found or timedelta()).total_seconds())
        return f"{abs(seconds)} s {'behind' if seconds < 0 else 'ahead of'} the database"


class DatabaseClock(Clock):
    """A process's clock, set right by that of the database."""

    def __init__(self, process: Clock, skew: Skew) -> None:
        self._process = process
        self._skew = skew
        self._offset = timedelta()
        self._warned: float | None = None

    @override
    def now(self) -> datetime:
        return self._process.now() + self._offset

    async def follow(self, db: Database) -> None:
        """Measure again and again, until cancelled."""
        while True:
            await asyncio.sleep(_PAUSE_SECONDS)
            await self.measure(db)

    async def measure(self, db: Database) -> None:
        """Ask the database for its time; without an answer in time, all stays as it was."""
        try:
            async with db.snapshot() as session:
                # The first statement of a transaction also begins it.
                await database_now(session)
                began = monotonic()
                told = await database_now(session)
                trip = timedelta(seconds=monotonic() - began)
                offset = told + trip / 2 - self._process.now()
        except Exception as error:  # noqa: BLE001 - the next measurement may succeed
            log.info("clock.not_measured", error=describe(error))
            return
        if trip <= _LONGEST_TRIP:
            self._take(offset, trip)

    def _take(self, offset: timedelta, trip: timedelta) -> None:
        # What the measurement does not contradict stays, so that times do not move to and fro.
        if abs(offset - self._offset) > trip / 2:
            self._offset = offset
        self._skew.found = -offset
        _SKEW.set(self._skew.found.total_seconds())
        if self._skew.is_too_large:
            self._warn()

    def _warn(self) -> None:
        now = monotonic()
        if self._warned is None or now - self._warned >= _WARNING_SECONDS:
            self._warned = now
            log.warning("clock.skewed", clock=str(self._skew), sweeps="resting")
