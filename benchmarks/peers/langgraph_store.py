"""LangGraph's AsyncPostgresStore, with its index for vectors, in the process of its callers.

Where a server has the vectors, it is asked by LangChain's client for OpenAI's protocol, which is
what the store's own documentation uses.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import uuid4

from langgraph.store.base import PutOp
from langgraph.store.postgres import AsyncPostgresStore, PoolConfig
from langgraph.store.postgres.base import PostgresIndexConfig

from benchmarks.peers import embeddings
from benchmarks.peers.texts import DIMENSIONS, TOP_K, Said, vector_of

_BATCH = 200
_FIELD = "text"


@dataclass(frozen=True)
class LangGraph:
    """One store with a pool of connections; a namespace for each user."""

    store: AsyncPostgresStore

    async def load(self, memories: Sequence[Said]) -> None:
        """As `System` has it."""
        for at in range(0, len(memories), _BATCH):
            await self.store.abatch(
                [
                    PutOp(_namespace(one), str(uuid4()), {_FIELD: one.text})
                    for one in memories[at : at + _BATCH]
                ]
            )

    async def write(self, _: int, memory: Said) -> None:
        """As `System` has it."""
        await self.store.aput(_namespace(memory), str(uuid4()), {_FIELD: memory.text})

    async def search(self, _: int, asked: Said) -> int:
        """As `System` has it."""
        return len(await self.store.asearch(_namespace(asked), query=asked.text, limit=TOP_K))


def _namespace(said: Said) -> tuple[str, str]:
    return "memories", said.user


async def _embed(texts: Sequence[str]) -> list[list[float]]:
    return [vector_of(text).tolist() for text in texts]


def _embedder() -> object:
    if embeddings.address() is None:
        return _embed
    # Imported only where it is asked, since it takes a second.
    from langchain_openai import OpenAIEmbeddings  # noqa: PLC0415 - as above

    # It would send tokens by a table that it downloads, which servers other than OpenAI's refuse.
    return OpenAIEmbeddings(model=embeddings.MODEL, check_embedding_ctx_length=False)


@asynccontextmanager
async def open_langgraph(address: str, callers: int) -> AsyncIterator[LangGraph]:
    """Open it on a database of its own."""
    index = PostgresIndexConfig(dims=DIMENSIONS, embed=_embedder(), fields=[_FIELD])
    pool = PoolConfig(min_size=callers, max_size=callers)
    opened = AsyncPostgresStore.from_conn_string(address, pool_config=pool, index=index)
    async with opened as store:
        await store.setup()
        yield LangGraph(store)
