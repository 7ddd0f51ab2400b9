"""Fast searches of a small scope without filters, outside the session.

They send the same statements as all other searches (`candidates.py`, `nearest.py`), as text. These
statements do not share a transaction, so the last one checks the assumptions about the engine. If
the engine has changed or a memory no longer exists, the search returns None, and the request takes
the slow path.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Integer, Select, Text, bindparam, func, select
from sqlalchemy.dialects.postgresql import ARRAY

from app.adapters.db.hot_sql import prepared
from app.adapters.db.lists import FEW, ReadRows, Slice, bytes_of, read_by_key
from app.adapters.db.server import Row
from app.adapters.db.session import Database
from app.adapters.db.vectors import EMBEDDING
from app.kernel.paging import first_within
from app.kernel.reads import hold
from app.memory.memories.store.fast_sql import COLUMNS
from app.memory.memories.store.records import MemoryRecord
from app.memory.memories.store.tables import MemoryRow
from app.memory.retrieval.logic.ranking import RankingCandidate, Statistics
from app.memory.retrieval.store.candidates import (
    CandidateQuery,
    candidates_of,
    of_whole_scope,
    values_of,
)
from app.memory.retrieval.store.nearest import (
    NEAR_COLUMNS,
    NearMemory,
    ScopeQuery,
    Vector,
    any_query,
    nearest,
)
from app.memory.retrieval.store.small import MOST, candidates_among, of_small_scope
from app.platform.engines.store.tables import EngineRow

_LIVE = """\
m.engine_id = $1 and m.delete_time is null and (m.expire_time is null or m.expire_time > $4)
    and m.scope_hash = $5"""
_AS_READ = (
    "e.engine_id = $1 and e.delete_time is null and e.version = $2 and e.embedding_model = $3"
)
_SIZE = str(bytes_of(select(MemoryRow))).replace("memories.", "m.")
"""The size of a memory, computed as in all lists."""
_OF_IDS = f"""
from engines e
join memories m on {_LIVE} and m.memory_id = any($6)
where {_AS_READ}
"""
_BY_IDS = f"select {COLUMNS}, {_SIZE} {_OF_IDS}".encode()
_SIZES_BY_IDS = f"select m.memory_id, {_SIZE} {_OF_IDS}".encode()
_OF_NEWEST = f"""
from engines e
join memories m on {_LIVE} and m.memory_type = any($6)
where {_AS_READ}
order by m.create_time desc, m.memory_id desc
limit $7
"""
_NEWEST = f"select {COLUMNS}, {_SIZE} {_OF_NEWEST}".encode()
_SIZES_OF_NEWEST = f"select m.memory_id, {_SIZE} {_OF_NEWEST}".encode()


async def find_candidates(
    db: Database, query: ScopeQuery, wanted: CandidateQuery
) -> tuple[Statistics, list[RankingCandidate]]:
    """Return the same as `candidates.find_candidates`, for a query without filters."""
    return candidates_of(await db.run(*prepared(*of_whole_scope(query, wanted))))


async def find_if_small(
    db: Database, query: ScopeQuery, wanted: CandidateQuery
) -> tuple[Statistics, list[RankingCandidate]] | None:
    """Return the same as `find_candidates` at a lower cost; None for more than `MOST` memories."""
    statement = of_small_scope(with_vectors=wanted.vector is not None)
    rows = await db.run(*prepared(statement, values_of(query, wanted)))
    return None if len(rows) > MOST else candidates_among(rows)


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
    # Without the column `place`: the driver cannot read its type.
    return select(near.c.memory_id, near.c.distance).order_by(near.c.distance, near.c.memory_id)


async def find_near_by_ids(
    db: Database, query: ScopeQuery, memory_ids: Sequence[str]
) -> dict[str, NearMemory]:
    """Return live memories of the scope by their ids, without distances; filters do not count."""
    if not memory_ids:
        return {}
    values = query.values() | {"memory_ids": list(memory_ids)}
    rows = [NearMemory(*row) for row in await db.run(*prepared(_near_by_ids(), values))]
    return {row.memory_id: row for row in rows}


@cache
def _near_by_ids() -> Select[*tuple[Any, ...]]:
    given = bindparam("memory_ids", type_=ARRAY(Text))
    is_named = MemoryRow.memory_id == func.any(given)
    return select(*NEAR_COLUMNS).where(any_query().condition(), is_named)


async def find_by_ids(
    db: Database, engine: EngineRow, query: ScopeQuery, memory_ids: Sequence[str], max_bytes: int
) -> dict[str, MemoryRecord] | None:
    """Return live memories of the scope by their ids: the first, with at most `max_bytes` in all.

    Return None if one no longer exists or the engine has changed since it was read. This cannot be
    checked without any ids, so the result is also None then.
    """
    stored = _Stored(db, engine, query)
    if len(memory_ids) <= FEW:
        found = {row.memory_id: (row, size) for row, size in await stored.read(_BY_IDS, memory_ids)}
        if not found or len(found) < len(memory_ids):
            return None
        sizes = {key: size for key, (_, size) in found.items()}
        return {key: found[key][0] for key in first_within(sizes, memory_ids, max_bytes)}
    sizes = await stored.sizes(_SIZES_BY_IDS, memory_ids)
    if len(sizes) < len(memory_ids):
        return None
    return await stored.read_all(first_within(sizes, memory_ids, max_bytes))


async def find_newest(
    db: Database, engine: EngineRow, query: ScopeQuery, page: Slice
) -> ReadRows[MemoryRecord] | None:
    """Return the first page of the scope, as `repository.find_newest` does.

    Return None if it is empty, or the engine has changed since it was read.
    """
    stored, types = _Stored(db, engine, query), list(query.memory_types)
    if page.limit <= FEW:
        found = await stored.read(_NEWEST, types, page.limit)
        part = page.fitting([row for row, _ in found], [size for _, size in found])
        return part if found else None
    sizes = await stored.sizes(_SIZES_OF_NEWEST, types, page.limit)
    named = page.fitting(list(sizes), list(sizes.values()))
    rows = await stored.read_all({key: sizes[key] for key in named.rows})
    return ReadRows(list(rows.values()), named.has_more, named.omitted) if rows else None


@dataclass(frozen=True)
class _Stored:
    """Memories of a scope, based on a cached engine row."""

    db: Database
    engine: EngineRow
    query: ScopeQuery

    async def read(self, statement: bytes, *values: object) -> list[tuple[MemoryRecord, int]]:
        """Return memories, each with its size."""
        found = [(MemoryRecord(*row), size) for *row, size in await self._run(statement, *values)]
        hold(sum(size for _, size in found))
        return found

    async def sizes(self, statement: bytes, *values: object) -> dict[str, int]:
        """Return the sizes of memories by id, in the order of the statement."""
        rows: Any = await self._run(statement, *values)
        return dict(rows)

    async def read_all(self, sizes: Mapping[str, int]) -> dict[str, MemoryRecord] | None:
        """Return the memories, in the same order; None if one no longer exists."""

        async def some(memory_ids: Sequence[str]) -> dict[str, MemoryRecord]:
            rows = await self._run(_BY_IDS, list(memory_ids))
            return {
                record.memory_id: record for record in (MemoryRecord(*row[:-1]) for row in rows)
            }

        rows = await read_by_key(sizes, some)
        return {key: rows[key] for key in sizes} if len(rows) == len(sizes) else None

    async def _run(self, statement: bytes, *values: object) -> Sequence[Row]:
        engine, query = self.engine, self.query
        of_engine = (engine.engine_id, engine.version, engine.embedding_model)
        return await self.db.run(statement, [*of_engine, query.now, query.scope_hash, *values])
