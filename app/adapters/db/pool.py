"""The use of the connection pool, and its metric."""

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import Gauge
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.pool import QueuePool

_CONNECTIONS = Gauge(
    "memory_bank_database_pool_connections",
    "Connections of the pool that are in use or idle, and transactions waiting for one.",
    ["state"],
)


class PoolUse:
    """The use of one pool by the transactions of this process."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._open = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the block as a transaction; its first statement takes a connection."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    @property
    def in_use(self) -> int:
        """The number of connections in use."""
        pool = self._engine.pool
        return pool.checkedout() if isinstance(pool, QueuePool) else 0

    def show(self, waiting: int) -> None:
        """Update the metric; `waiting` statements wait for a direct connection."""
        pool, in_use = self._engine.pool, self.in_use
        idle = pool.checkedin() if isinstance(pool, QueuePool) else 0
        _CONNECTIONS.labels("in use").set(in_use)
        _CONNECTIONS.labels("idle").set(idle)
        _CONNECTIONS.labels("waiting").set(max(0, self._open - in_use) + waiting)
