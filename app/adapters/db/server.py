"""The connections of a process to one server, and the limit for statements over all shards."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from prometheus_client import Gauge
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.pool import QueuePool

from app.adapters.concurrency import consume_exception
from app.adapters.db.direct import DirectConnections
from app.adapters.db.errors import unavailable
from app.adapters.db.nodes import Nodes, working_for

PLACES = 2
"""Most concurrent statements; a node that hangs occupies no more connections."""
SECONDS = 2.0
"""Time limit for each statement, including its wait for a place."""
_V = TypeVar("_V")
_CONNECTIONS = Gauge(
    "memory_bank_database_pool_connections",
    "Connections of the pool that are in use or idle, and transactions waiting for one.",
    ["state"],
)
_CLOSE_SECONDS = 2.0
_CLOSE_PAUSE_SECONDS = 0.005
_LONG_READS = 2
"""Long reads at a time, so that short ones of others find a core, here and in Postgres."""


class AllShards:
    """The limit for concurrent statements over all shards in one process."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(PLACES)
        self._running: set[asyncio.Task[Any]] = set()

    async def run(self, work: Callable[[], Awaitable[_V]]) -> _V:
        """Return the result of work that takes one place.

        Raises:
            Unavailable: a node does not answer in time.
        """
        with working_for(None):
            task = asyncio.create_task(self._placed(work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        task.add_done_callback(consume_exception)
        try:
            await asyncio.wait({task}, timeout=SECONDS)
        finally:
            # Not awaited: a node that hangs does not take the driver's cancellation, for which it
            # waits ten seconds. Until then the place and the connection stay occupied.
            task.cancel()
        if not task.done():
            raise unavailable()
        return task.result()

    async def _placed(self, work: Callable[[], Awaitable[_V]]) -> _V:
        async with self._places:
            return await work()


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


class DatabaseServer:
    """One server as a process reaches it.

    Attributes:
        reading: the same pool, for snapshots.
        direct: the connections of the hot statements.
        pool_use: the use of the pool.
        nodes: the nodes of a distributed database.
        all_shards: the places of statements over all shards of a distributed database.
        long_reads: the places of statements that read much for a page, or ask how much that is.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self.reading = engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        self.nodes = Nodes(engine)
        self.direct = DirectConnections(engine, self.nodes)
        self.pool_use = PoolUse(engine)
        self.all_shards = AllShards()
        self.long_reads = asyncio.Semaphore(_LONG_READS)

    async def close(self) -> None:
        """Close every connection, waiting a while for the transactions of those in use.

        Some write in the background, such as the last uses of keys.
        """
        await self.nodes.close()
        await self.direct.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                # A pool does not report returned connections.
                while self.pool_use.in_use:  # noqa: ASYNC110 - as above
                    await asyncio.sleep(_CLOSE_PAUSE_SECONDS)
        await self.engine.dispose()
