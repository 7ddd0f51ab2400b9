"""The size of the database, as a metric that a process has once it imports this module."""

from datetime import datetime, timedelta

from prometheus_client import Gauge
from sqlalchemy import text

from app.adapters.db.session import Database
from app.adapters.metrics import of_all
from app.kernel.clock import Clock

_SIZE = of_all(Gauge, "memory_bank_database_size_bytes", "Size of the database on disk.")
_INTERVAL = timedelta(minutes=5)
"""Shortest time between two readings: for each, Postgres stats every file."""


class DatabaseSize:
    """The gauge of the size, updated at most every five minutes."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._read: datetime | None = None

    async def refresh(self) -> None:
        """Read the size, unless the last reading is recent."""
        now = self._clock.now()
        if self._read is not None and abs(now - self._read) < _INTERVAL:
            return
        async with self._db.snapshot() as session:
            size = await session.execute(text("select pg_database_size(current_database())"))
            _SIZE.set(size.scalar_one())
        self._read = now
