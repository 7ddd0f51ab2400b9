"""The connections of a process to one server."""

import asyncio
from contextlib import suppress

from sqlalchemy.ext.asyncio import AsyncEngine

from app.adapters.db.all_shards import AllShards
from app.adapters.db.direct import DirectConnections
from app.adapters.db.nodes import Nodes
from app.adapters.db.pool import PoolUse

_CLOSE_SECONDS = 2.0
_CLOSE_PAUSE_SECONDS = 0.005
_LONG_READS = 2
"""Long reads at a time, so that short ones of others find a core, here and in Postgres."""


class DatabaseServer:
    """One server as a process reaches it.

    Attributes:
        engine: the pool.
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
