"""Fast searches of a small scope without filters, past the session.

They send the same statements as all other searches (`candidates.py`, `nearest.py`), as text. No
transaction holds these statements together, so the last one checks the assumptions about the
engine. If they were wrong, or a memory is gone meanwhile, the search finds nothing, and the request
takes the slow path.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Integer, Select, Text, bindparam, select

from app.adapters.db.columns import EMBEDDING
from app.adapters.db.session import Database
from app.adapters.db.texts import prepared
from app.memory.memories.store.fast_sql import COLUMNS
from app.memory.memories.store.records import MemoryRecord
from app.memory.retrieval.logic.ranking import RankingCandidate, Statistics
from app.memory.retrieval.store.candidates import (
    CandidateQuery,
    candidates_of,
    of_whole_scope,
    values_of,
)
from app.memory.retrieval.store.nearest import ScopeQuery, Vector, any_query, nearest
from app.memory.retrieval.store.small import MOST, Read, candidates_among, of_small_scope
from app.platform.engines.store.tables import EngineRow

_LIVE = """\
m.engine_id = $1 and m.delete_time is null and (m.expire_time is null or m.expire_time > $4)
    and m.scope_hash = $5"""
_AS_READ = (
    "e.engine_id = $1 and e.delete_time is null and e.version = $2 and e.embedding_model = $3"
)
_BY_IDS = f"""
select {COLUMNS}
from engines e
join memories m on {_LIVE} and m.memory_id = any($6)
where {_AS_READ}
""".encode()  # noqa: S608 - of constants
_NEWEST = f"""
select {COLUMNS}
from engines e
join memories m on {_LIVE} and m.memory_type = any($6)
where {_AS_READ}
order by m.create_time desc, m.memory_id desc
limit $7
""".encode()  # noqa: S608 - of constants


async def find_candidates(
    db: Database, query: ScopeQuery, wanted: CandidateQuery
) -> tuple[Statistics, list[RankingCandidate]]:
    """Return the same as `candidates.find_candidates`, for a query without filters."""
    return candidates_of(await db.run(*prepared(*of_whole_scope(query, wanted))))


async def find_if_small(
    db: Database, query: ScopeQuery, wanted: CandidateQuery
) -> tuple[Statistics, list[RankingCandidate]] | None:
    """Return the same as `find_candidates`, for less; None if the scope is larger than `MOST`."""
    statement = of_small_scope(with_vectors=wanted.vector is not None)
    read = await db.run(*prepared(statement, values_of(query, wanted)))
    if len(read) > MOST:
        return None
    return candidates_among([Read(*row) for row in read])


async def find_nearest(
    db: Database, query: ScopeQuery, model_id: str, vector: Vector, limit: int
) -> dict[str, float]:
    """Return the distances of the nearest memories by id, nearest first."""
    values = query.values() | {"model_id": model_id, "vector": vector, "count": limit}
    rows: Any = await db.run(*prepared(_nearest(), values))
    return dict(rows)


@cache
def _nearest() -> Select[*tuple[Any, ...]]:
    given: Any = bindparam
    model_id, limit = given("model_id", type_=Text), given("count", type_=Integer)
    near = nearest(any_query(), model_id, given("vector", type_=EMBEDDING), limit).subquery("near")
    # Without the column `place`, whose type the driver cannot read.
    return select(near.c.memory_id, near.c.distance).order_by(near.c.distance, near.c.memory_id)


async def find_by_ids(
    db: Database, engine: EngineRow, query: ScopeQuery, memory_ids: Sequence[str]
) -> dict[str, MemoryRecord] | None:
    """Return live memories of the scope by their ids.

    Return None if one is gone or the engine has changed since it was read. Without any ids that
    cannot be checked, so the result is None as well.
    """
    rows = await _stored(db, _BY_IDS, engine, query, list(memory_ids))
    if not rows or len(rows) < len(memory_ids):
        return None
    return {row.memory_id: row for row in rows}


async def find_newest(
    db: Database, engine: EngineRow, query: ScopeQuery, limit: int
) -> list[MemoryRecord]:
    """Return memories of the scope, newest first, as `repository.find_newest` does.

    The list is also empty if the engine has changed since it was read.
    """
    return await _stored(db, _NEWEST, engine, query, list(query.memory_types), limit)


async def _stored(
    db: Database, statement: bytes, engine: EngineRow, query: ScopeQuery, *values: object
) -> list[MemoryRecord]:
    of_engine = (engine.engine_id, engine.version, engine.embedding_model)
    rows = await db.run(statement, [*of_engine, query.now, query.scope_hash, *values])
    return [MemoryRecord(*row) for row in rows]
