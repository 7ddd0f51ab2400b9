"""Vectors that come after the memories: what the ledger writes is embedded later, or anew.

All functions take part in the caller's transaction, and lock the memories.
"""

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
    """The embedding of a fact, of unit length; without a `model_id`, by the model that serves."""

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
    """Give memories their vectors by a model: by memory, the fact that was embedded, and how.

    Memories that have another fact by now, or are gone, get none. The caller holds the engine
    (`Lock.SHARED`). Returns those that got one.
    """
    rows = await repository.lock(session, engine_id, list(vectors), repository.is_live(now))
    fitting = [row for row in rows if row.fact == vectors[row.memory_id][0]]
    values = [values_of(row, model_id, vectors[row.memory_id][1]) for row in fitting]
    await repository.put_vectors(session, values)
    return [row.memory_id for row in fitting]


async def put_off(
    session: Session, engine_id: int, memory_ids: Sequence[str], now: datetime
) -> None:
    """Let those of the memories that are live wait for their vectors."""
    rows = await repository.lock(session, engine_id, memory_ids, repository.is_live(now))
    await repository.put_off(session, engine_id, [row.memory_id for row in rows])


async def end_waits(
    session: Session, engine_id: int, memory_ids: Sequence[str], done: Sequence[str], now: datetime
) -> None:
    """Let memories wait for their vectors no longer that have one now (`done`), or need none."""
    rows = await repository.lock(session, engine_id, memory_ids, repository.is_live(now))
    needing = {row.memory_id for row in rows if row.fact is not None} - set(done)
    over = [one for one in memory_ids if one not in needing]
    await repository.end_wait(session, engine_id, over)


async def remove_stale_vectors(
    session: Session, engine_id: int, memory_ids: Sequence[str], kept: Sequence[str]
) -> None:
    """Remove vectors of memories by other models than those `kept`; locks the memories."""
    await repository.lock(session, engine_id, memory_ids, repository.everything())
    await repository.remove_vectors(session, engine_id, memory_ids, kept)
