"""Time by the clock of the database, which all processes share.

Permanent deletions, ends of windows and sweeps read `database_time` or `database_now` in their own
transaction. All other code uses `DatabaseClock`.
"""

import asyncio
import sys
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic

import structlog
from prometheus_client import Gauge
from sqlalchemy import ColumnElement, DateTime, func, literal, select
from typing_extensions import override

from app.adapters.concurrency import raise_if_cancelled
from app.adapters.db.session import Database, Session, clock_of
from app.kernel.clock import Clock
from app.kernel.errors import describe

log = structlog.get_logger()

_SKEW = Gauge(
    "memory_bank_clock_skew_seconds",
    "Lead of the process's clock over the database's; negative: it is behind.",
)
_PAUSE_SECONDS = 30.0
_LONGEST_TRIP = timedelta(seconds=2)
"""Longest round trip of a valid measurement; a longer one is too imprecise."""
_WARNING_SECONDS = 60.0
_JUMP = timedelta(seconds=1)
"""Deviation from the elapsed time that shows that the clock was set."""

DatabaseTime = ColumnElement[datetime]
"""A time that the database fills in when it runs the statement."""


def database_time(session: Session) -> DatabaseTime:
    """Return the start time of a statement, which is constant and so serves an index lookup."""
    clock, kind = clock_of(session), DateTime(timezone=True)
    return func.statement_timestamp(type_=kind) if clock is None else literal(clock.now(), kind)


async def database_now(session: Session) -> datetime:
    """Return the database's current time."""
    return (await session.execute(select(database_time(session)))).scalar_one()


@dataclass
class Skew:
    """The lead of the process's clock, if measured; `most`: the largest tolerated difference."""

    most: timedelta = timedelta.max
    found: timedelta | None = None

    @property
    def is_too_large(self) -> bool:
        """True if the difference exceeds the tolerated one."""
        return self.found is not None and abs(self.found) > self.most

    @override
    def __str__(self) -> str:
        seconds = round((self.found or timedelta()).total_seconds())
        return f"{abs(seconds)} s {'behind' if seconds < 0 else 'ahead of'} the database"


class DatabaseClock(Clock):
    """A process's clock, corrected by the database's clock; on Linux, at once after a jump."""

    def __init__(self, process: Clock, skew: Skew) -> None:
        self._process = process
        self._skew = skew
        self._offset = timedelta()
        self._warned: float | None = None
        self._last: tuple[datetime, float] | None = None

    @override
    def now(self) -> datetime:
        return self._undo_jump() + self._offset

    def _undo_jump(self) -> datetime:
        now = self._process.now()
        if sys.platform == "linux":
            at = time.clock_gettime(time.CLOCK_BOOTTIME)
            if self._last is not None:
                jumped = now - self._last[0] - timedelta(seconds=at - self._last[1])
                if abs(jumped) > _JUMP:
                    self._offset -= jumped
            self._last = now, at
        return now

    async def follow(self, db: Database) -> None:
        """Measure repeatedly until cancelled."""
        while True:
            await asyncio.sleep(_PAUSE_SECONDS)
            await self.measure(db)

    async def measure(self, db: Database) -> None:
        """Measure the offset to the database's clock; on failure, change nothing."""
        try:
            async with db.snapshot() as session:
                # The first statement of a transaction also begins it.
                await database_now(session)
                began = monotonic()
                database = await database_now(session)
                trip = timedelta(seconds=monotonic() - began)
                offset = database + trip / 2 - self._undo_jump()
        except Exception as error:  # noqa: BLE001 - the next measurement may succeed
            raise_if_cancelled()
            log.info("clock.not_measured", error=describe(error))
            return
        if trip <= _LONGEST_TRIP:
            self._take(offset, trip)

    def _take(self, offset: timedelta, trip: timedelta) -> None:
        # A change within the measurement's error is ignored; otherwise time would jitter.
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
