"""mem0's `Memory` on pgvector, with `infer=False`, in the process of its callers.

Its own package alone: without spaCy, which is an extra, it neither lemmatises nor looks for
entities, which would cost it more. Where a table has the vectors, the embedding model that its
configuration makes is replaced by one that reads it; where a server has them, its own client of
OpenAI's asks. The text model that it makes is never asked.
"""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase

from benchmarks.peers import embeddings
from benchmarks.peers.texts import DIMENSIONS, TOP_K, Said, vector_of

_BATCH = 200


class _Table(EmbeddingBase):  # type: ignore[misc]  # not installed where this is checked
    """Knows the vector of every text."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - as mem0 has it
        found: list[float] = vector_of(text).tolist()
        return found


@dataclass(frozen=True)
class Mem0:
    """One `Memory`, whose pool has a connection for each caller."""

    memory: Any

    def load(self, memories: Sequence[Said]) -> None:
        """As `System` has it: the rows that `add` would write, many at a time."""
        self.write(0, memories[0])
        (first,) = self.memory.vector_store.list(top_k=1)[0]
        for at in range(1, len(memories), _BATCH):
            some = memories[at : at + _BATCH]
            self.memory.vector_store.insert(
                vectors=[vector_of(one.text).tolist() for one in some],
                ids=[str(uuid4()) for _ in some],
                payloads=[first.payload | _own(one) for one in some],
            )

    def write(self, _: int, memory: Said) -> None:
        """As `System` has it."""
        self.memory.add(memory.text, user_id=memory.user, infer=False)

    def search(self, _: int, asked: Said) -> int:
        """As `System` has it."""
        found = self.memory.search(asked.text, filters={"user_id": asked.user}, top_k=TOP_K)
        return len(found["results"])


def _own(memory: Said) -> dict[str, str]:
    return {"user_id": memory.user, "data": memory.text, "text_lemmatized": memory.text}


@asynccontextmanager
async def open_mem0(address: str, callers: int) -> AsyncIterator[Mem0]:
    """Open it on a database of its own."""
    folder = Path(os.environ["MEM0_DIR"])  # noqa: TID251 - a variable of mem0's own
    vectors = {
        "connection_string": address,
        "embedding_model_dims": DIMENSIONS,
        "minconn": callers,
        "maxconn": callers,
    }
    memory = Memory.from_config(
        {
            "vector_store": {"provider": "pgvector", "config": vectors},
            "embedder": {"provider": "openai", "config": {"model": embeddings.MODEL}},
            "history_db_path": str(folder / "history.db"),
        }
    )
    if embeddings.address() is None:
        memory.embedding_model = _Table()
    yield Mem0(memory)
