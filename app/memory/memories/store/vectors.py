"""Vectors written after their memories: facts embedded later or again. The memories are locked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.adapters.db.session import Session
from app.memory.memories.store import repository
from app.memory.memories.store.tables import MemoryRow


@dataclass(frozen=True)
class Vector:
    """The embedding of a fact, of unit length; `model_id` None means the serving model."""

    values: NDArray[np.float32]
    model_id: str | None = None


def values_of(row: MemoryRow, model_id: str, vector: Vector) -> dict[str, Any]:
    """Return the row of a memory's vector by a model."""
    return {
        "engine_id": row.engine_id,
        "memory_id": row.memory_id,
        "model_id": model_id,
        "scope_hash": row.scope_hash,
        "expire_time": row.expire_time,
        "vector": vector.values,
    }


async def embed(
    session: Session,
    engine_id: int,
    model_id: str,
    vectors: Mapping[str, tuple[str, Vector]],
    now: datetime,
) -> list[str]:
    """Store the vectors of memories by a model; return the ids of the memories that got one.

    `vectors` has the embedded fact and its vector, by memory id. Memories that no longer exist or
    now have another fact get none. The caller holds a lock on the engine (`Lock.SHARED`).
    """
    rows = await repository.lock(session, engine_id, list(vectors), repository.is_live(now))
    fitting = [row for row in rows if row.fact == vectors[row.memory_id][0]]
    values = [values_of(row, model_id, vectors[row.memory_id][1]) for row in fitting]
    await repository.put_vectors(session, values)
    return [row.memory_id for row in fitting]


async def put_off(
    session: Session, engine_id: int, memory_ids: Sequence[str], now: datetime
) -> None:
    """Queue the live memories for embedding."""
    rows = await repository.lock(session, engine_id, memory_ids, repository.is_live(now))
    await repository.put_off(session, engine_id, [row.memory_id for row in rows])


async def end_waits(
    session: Session, engine_id: int, memory_ids: Sequence[str], done: Sequence[str], now: datetime
) -> None:
    """Dequeue memories that have a vector now (`done`) or need none."""
    rows = await repository.lock(session, engine_id, memory_ids, repository.is_live(now))
    needing = {row.memory_id for row in rows if row.fact is not None} - set(done)
    over = [memory_id for memory_id in memory_ids if memory_id not in needing]
    await repository.end_wait(session, engine_id, over)


async def remove_stale_vectors(
    session: Session, engine_id: int, memory_ids: Sequence[str], kept: Sequence[str]
) -> None:
    """Remove vectors of models other than `kept`; locks the memories."""
    await repository.lock(session, engine_id, memory_ids, repository.everything())
    await repository.remove_vectors(session, engine_id, memory_ids, kept)
