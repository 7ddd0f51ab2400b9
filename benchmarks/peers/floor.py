"""The floor: one statement for each operation, by psycopg, on one table with two indexes.

Where a server has the vectors, it is asked once for each operation as well.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection

from benchmarks.peers import embeddings
from benchmarks.peers.connection import Connection
from benchmarks.peers.texts import DIMENSIONS, TOP_K, Said, vector_of

_ENGINE = 1
_TABLE = f"""
create table memories (
    engine_id bigint, memory_id text, scope text, fact text, vector vector({DIMENSIONS}),
    primary key (engine_id, memory_id)
);
create index on memories (engine_id, scope)
"""
_WRITE = "insert into memories values (%s, %s, %s, %s, %s)"
_SEARCH = f"""
select memory_id, fact, vector <-> %s as distance from memories
where engine_id = %s and scope = %s order by distance limit {TOP_K}
"""


@dataclass(frozen=True)
class Floor:
    """A connection for each caller, and one to the server of embeddings."""

    connections: Sequence[AsyncConnection[Any]]
    embedding: Sequence[Connection]

    async def load(self, memories: Sequence[Said]) -> None:
        """As `System` has it."""
        async with self.connections[0].cursor() as cursor:
            await cursor.executemany(_WRITE, [_row(memory) for memory in memories])

    async def write(self, caller: int, memory: Said) -> None:
        """As `System` has it."""
        await self._embed(caller, memory)
        await self.connections[caller].execute(_WRITE, _row(memory))

    async def search(self, caller: int, asked: Said) -> int:
        """As `System` has it."""
        await self._embed(caller, asked)
        values = (vector_of(asked.text), _ENGINE, asked.user)
        found = await self.connections[caller].execute(_SEARCH, values)
        return len(await found.fetchall())

    async def _embed(self, caller: int, said: Said) -> None:
        if self.embedding:
            await embeddings.ask(self.embedding[caller], said.text)


def _row(memory: Said) -> tuple[Any, ...]:
    return _ENGINE, str(uuid4()), memory.user, memory.text, vector_of(memory.text)


@asynccontextmanager
async def open_floor(address: str, callers: int) -> AsyncIterator[Floor]:
    """Open it on a database of its own."""
    async with AsyncExitStack() as stack:
        connections = []
        for _ in range(callers):
            opened = await AsyncConnection.connect(address, autocommit=True)
            connections.append(await stack.enter_async_context(opened))
            await register_vector_async(opened)
        await connections[0].execute(_TABLE)
        asked = []
        for _ in range(callers):
            if (embedding := await embeddings.connected()) is not None:
                stack.callback(embedding.writer.close)
                asked.append(embedding)
        yield Floor(connections, asked)
