"""A scope of many memories, written by the database itself, and what is nearest in it, computed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import psycopg
from psycopg.types.json import Jsonb

from app.kernel.ids import scope_hash
from tests.support.scripted_models import ScriptedEmbedder

MANY = {"user_id": "many"}
_INSERT = b"""
insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                      memory_type, create_time, update_time, expire_time, cues)
values (1, %(id)s, 1, %(scope)s, %(hash)s, %(fact)s, '[]', %(metadata)s,
        'NATURAL_LANGUAGE_COLLECTION', %(now)s, %(now)s, %(expire)s, '{}')
"""
_INSERT_VECTOR = b"""
insert into memory_vectors (engine_id, memory_id, model_id, scope_hash, expire_time, vector)
values (1, %(id)s, %(model)s, %(hash)s, %(expire)s, %(vector)s)
"""


@dataclass(frozen=True)
class Filled:
    """What a scope holds: the ids of live memories by their kind, and the vector of each."""

    by_kind: dict[str, list[str]]
    vectors: dict[str, np.ndarray]

    def nearest(self, vector: np.ndarray, kind: str | None, count: int) -> list[str]:
        """Compute the nearest of a kind, or of all, nearest first."""
        kinds = self.by_kind if kind is None else {kind: self.by_kind.get(kind, [])}
        ids = [one for found in kinds.values() for one in found]
        return sorted(ids, key=lambda one: self.distance(vector, one))[:count]

    def distance(self, vector: np.ndarray, memory_id: str) -> float:
        """Compute a distance, of vectors as they are stored."""
        stored = self.vectors[memory_id].astype(np.float16).astype(np.float64)
        asked = vector.astype(np.float16).astype(np.float64)
        return float(np.linalg.norm(stored - asked))


async def fill(
    url: str, embedder: ScriptedEmbedder, now: datetime, count: int, near: Sequence[str]
) -> Filled:
    """Write live memories of kinds `common` and `rare` (each 40th), and as many that are gone.

    The gone ones, a third of them expired and the others deleted, lie nearest to the texts `near`.
    """
    facts = [f"Fact number {number} of many." for number in range(count)]
    gone = [f"gone {number} {text}" for text in near for number in range(count // len(near))]
    for fact in gone:
        embedder.place(fact, near=fact.split(" ", 2)[2], distance=0.1)
    vectors = await embedder.embed([*facts, *gone])
    filled = Filled({"common": [], "rare": []}, {})
    with psycopg.connect(url) as connection:
        for number, (fact, vector) in enumerate(zip([*facts, *gone], vectors, strict=True)):
            is_gone = number >= count
            kind = "rare" if number % 40 == 0 else "common"
            memory_id = f"m{number:05}"
            values = {
                "id": memory_id,
                "scope": Jsonb(MANY),
                "hash": scope_hash(MANY),
                "fact": fact,
                "metadata": Jsonb({"kind": {"stringValue": kind}}),
                "now": now - timedelta(hours=1),
                "expire": now - timedelta(minutes=1) if is_gone and number % 3 == 0 else None,
                "model": embedder.model_id,
                "vector": "[" + ",".join(map(str, vector)) + "]",
            }
            connection.execute(_INSERT, values)
            connection.execute(_INSERT_VECTOR, values)
            if not is_gone:
                filled.by_kind[kind].append(memory_id)
                filled.vectors[memory_id] = vector
    return filled


def delete(url: str, now: datetime, filled: Filled) -> None:
    """Delete what is gone and has not expired, as the ledger does: a tombstone has no vector."""
    live = list(filled.vectors)
    with psycopg.connect(url) as connection:
        connection.execute(
            b"delete from memory_vectors where engine_id = 1 and expire_time is null"
            b" and not memory_id = any(%s)",
            [live],
        )
        connection.execute(
            b"update memories set delete_time = %s, recover_until = %s where engine_id = 1"
            b" and expire_time is null and not memory_id = any(%s)",
            [now, now + timedelta(days=1), live],
        )
