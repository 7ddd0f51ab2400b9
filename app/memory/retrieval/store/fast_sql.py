"""Fast searches of a scope without filters, outside the session.

They send the statements of all other searches (`candidates.py`, `nearest.py`), as text. These do
not share a transaction, so the last one checks the assumptions about the engine. If the engine has
changed or a memory no longer exists, the search returns None, and the request takes the slow path.

In a small scope, the candidates are selected in Python from all of its memories: Postgres takes as
long to rank a hundred memories by distance, words and age as to read them. The result is equal to
the one of the statement in `candidates.py`, to the last digit.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Integer, Select, Text, bindparam, func, select, true
from sqlalchemy.dialects.postgresql import ARRAY

from app.adapters.db.hot_sql import at_once, filled, prepared, text_of
from app.adapters.db.lists import FEW, ReadRows, Slice, bytes_of, read_by_key
from app.adapters.db.server import Row
from app.adapters.db.session import Database
from app.adapters.db.vectors import EMBEDDING, HalfVector, read_half_vector
from app.kernel.paging import first_within
from app.kernel.reads import hold
from app.language.bm25 import Bm25, count_holding
from app.memory.memories.store.columns import MemoryRecord
from app.memory.memories.store.fast_sql import COLUMNS
from app.memory.memories.store.tables import MemoryRow, MemoryVectorRow
from app.memory.retrieval.logic.ranking import (
    CANDIDATE_FIELDS,
    NO_NEIGHBOUR,
    Neighbour,
    RankingCandidate,
    Statistics,
)
from app.memory.retrieval.store.candidates import (
    BY_DISTANCE,
    TOLD_APART,
    CandidateQuery,
    candidates_of,
    of_whole_scope,
    read_scope,
    values_of,
)
from app.memory.retrieval.store.indexed_candidates import of_large_scope
from app.memory.retrieval.store.nearest import (
    BY_WORDS,
    MOST,
    NEAR_COLUMNS,
    OF_INDEX,
    POOL,
    NearMemory,
    ScopeIndex,
    ScopeQuery,
    Vector,
    any_query,
    at_scope,
    has_vector,
    nearest,
    of_any_scope,
)
from app.platform.engines.store.tables import EngineRow

MAX_SMALL_SCOPE = 200
"""Maximum memories in a small scope. With 200, a search costs the service 0.25 ms more CPU than
a selection in Postgres, and Postgres 0.75 ms less. With more, other requests would wait too long.
"""
_OF_INDEX = [f"set local {name} = '{value}'".encode() for name, value in OF_INDEX.items()]
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
_BY_DISTANCE = f"""
select {COLUMNS}, {_SIZE}, near.distance
from engines e
cross join near
join memories m on m.engine_id = %(engine_id)s and m.memory_id = near.memory_id
where e.engine_id = %(engine_id)s and e.delete_time is null
    and e.version = %(version)s and e.embedding_model = %(model_id)s
order by near.distance, near.memory_id
"""  # noqa: S608 - of constants
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
    db: Database, query: ScopeQuery, wanted: CandidateQuery, index: ScopeIndex | None = None
) -> tuple[Statistics, list[RankingCandidate]]:
    """Return the same as `candidates.find_candidates`, for a query without filters."""
    if index is not None:
        with_vectors = wanted.vector is not None
        large = of_large_scope(index.dimensions, with_vectors=with_vectors, at_scope=True)
        statement, values = prepared(large, values_of(query, wanted))
        statement = at_scope(statement, query, wanted.model_id)
        rows = await db.run(statement, values, options=_OF_INDEX)
        if len(rows) >= POOL:
            return candidates_of(rows)
    return candidates_of(await db.run(*prepared(*of_whole_scope(query, wanted))))


async def find_if_small(
    db: Database, query: ScopeQuery, wanted: CandidateQuery
) -> tuple[Statistics, list[RankingCandidate]] | None:
    """Return the same as `find_candidates` at a lower cost; None unless the scope is small."""
    statement = of_small_scope(with_vectors=wanted.vector is not None)
    rows = await db.run(*prepared(statement, values_of(query, wanted)))
    return None if len(rows) > MAX_SMALL_SCOPE else candidates_among(rows)


async def find_nearest(
    db: Database,
    query: ScopeQuery,
    model_id: str,
    vector: Vector,
    limit: int,
    *,
    index: ScopeIndex | None = None,
) -> dict[str, float]:
    """Return the distances of the nearest memories by id, nearest first."""
    values = query.values() | {"model_id": model_id, "vector": vector, "count": limit}
    statement, parameters = prepared(_nearest(index and index.dimensions), values)
    if index is not None:
        statement = at_scope(statement, query, model_id)
    options = () if index is None else _OF_INDEX
    rows: Any = await db.run(statement, parameters, options=options)
    return dict(rows)


@cache
def _nearest(dimensions: int | None) -> Select[*tuple[Any, ...]]:
    index = ScopeIndex(dimensions) if dimensions else None
    query, model_id = of_any_scope(has_index=index is not None)
    vector = bindparam("vector", type_=EMBEDDING)
    limit: Any = bindparam("count", type_=Integer)
    many: Any = limit if index is None else func.greatest(MOST, limit)
    near = nearest(query, model_id, vector, many, index).subquery("near")
    # Without the column `place`: the driver cannot read its type.
    return (
        select(near.c.memory_id, near.c.distance)
        .order_by(near.c.distance, near.c.memory_id)
        .limit(limit)
    )


async def read_nearest(
    db: Database, engine: EngineRow, query: ScopeQuery, vector: Vector, limit: int, max_bytes: int
) -> tuple[dict[str, float], dict[str, MemoryRecord]] | None:
    """Return what `find_nearest` and then `find_by_ids` do, in one statement; for a few memories.

    Return None if there are none, or if the engine has changed since it was read.
    """
    text, values = _rows_of_nearest()
    values = values | query.values() | {"version": engine.version, "count": limit}
    values |= {"model_id": engine.embedding_model, "vector": HalfVector(vector)}
    read = [
        (MemoryRecord(*row), size, distance)
        for *row, size, distance in await db.run(*filled(text, values))
    ]
    hold(sum(size for _, size, _ in read))
    near = {row.memory_id: distance for row, _, distance in read}
    rows = {row.memory_id: row for row, _, _ in read}
    kept = first_within({row.memory_id: size for row, size, _ in read}, list(near), max_bytes)
    return (near, {key: rows[key] for key in kept}) if near else None


@cache
def _rows_of_nearest() -> tuple[str, dict[str, Any]]:
    text, values = text_of(_nearest(None))
    return at_once({"near": text}, _BY_DISTANCE), values


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
    is_named = MemoryRow.memory_id == func.any(bindparam("memory_ids", type_=ARRAY(Text)))
    return select(*NEAR_COLUMNS).where(any_query().condition(), is_named)


async def find_vectors(
    db: Database, query: ScopeQuery, model_id: str, memory_ids: Sequence[str]
) -> dict[str, NDArray[np.float32]]:
    """Return the vectors by a model of memories of the scope by their ids; filters do not count."""
    if not memory_ids:
        return {}
    values = query.values() | {"model_id": model_id, "memory_ids": list(memory_ids)}
    rows = await db.run(*prepared(_vectors_by_ids(), values))
    return {memory_id: read_half_vector(sent) for memory_id, sent in rows}


@cache
def _vectors_by_ids() -> Select[*tuple[Any, ...]]:
    is_named = MemoryVectorRow.memory_id == func.any(bindparam("memory_ids", type_=ARRAY(Text)))
    model_id: Any = bindparam("model_id", type_=Text)
    sent = func.halfvec_send(MemoryVectorRow.vector)
    return select(MemoryVectorRow.memory_id, sent).where(
        has_vector(any_query(), model_id), is_named
    )


async def find_by_ids(
    db: Database, engine: EngineRow, query: ScopeQuery, memory_ids: Sequence[str], max_bytes: int
) -> dict[str, MemoryRecord] | None:
    """Return live memories of the scope by their ids: the first, with at most `max_bytes` in all.

    Return None without ids, if one no longer exists or if the engine has changed since it was read.
    """
    stored = _Stored(db, engine, query)
    if len(memory_ids) <= FEW:
        read = await stored.read(_BY_IDS, memory_ids)
        if not read or len(read) < len(memory_ids):
            return None
        rows = {row.memory_id: row for row, _ in read}
        sizes = {row.memory_id: size for row, size in read}
        return {key: rows[key] for key in first_within(sizes, memory_ids, max_bytes)}
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
        read = await stored.read(_NEWEST, types, page.limit)
        part = page.fitting([row for row, _ in read], [size for _, size in read])
        return part if read else None
    sizes = await stored.sizes(_SIZES_OF_NEWEST, types, page.limit)
    named = page.fitting(list(sizes), list(sizes.values()))
    rows = await stored.read_all({key: sizes[key] for key in named.rows})
    return ReadRows(list(rows.values()), named.has_more, named.omitted) if rows else None


@dataclass(frozen=True)
class _Stored:
    db: Database
    engine: EngineRow
    query: ScopeQuery

    async def read(self, statement: bytes, *values: object) -> list[tuple[MemoryRecord, int]]:
        rows = [(MemoryRecord(*row), size) for *row, size in await self._run(statement, *values)]
        hold(sum(size for _, size in rows))
        return rows

    async def sizes(self, statement: bytes, *values: object) -> dict[str, int]:
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


_QUESTION = "is:question"


@cache
def of_small_scope(*, with_vectors: bool) -> Select[*tuple[Any, ...]]:
    """Return the statement that reads the scope, at most one memory more than `MAX_SMALL_SCOPE`.

    Each row has a candidate without its neighbours, and the number of terms in the query; the
    newest memories come first. Its parameters are the keys of `candidates.values_of`.
    """
    scope, words = read_scope(true(), with_vectors=with_vectors, most=MAX_SMALL_SCOPE + 1)
    terms = select(func.count(words.c.n.distinct())).scalar_subquery()
    own = (scope.c[name] for name in CANDIDATE_FIELDS)
    newest_first = (scope.c.create_time.desc(), scope.c.memory_id.desc())
    return select(*own, terms.label("terms")).order_by(*newest_first)


def candidates_among(
    rows: Sequence[Sequence[Any]],
) -> tuple[Statistics, list[RankingCandidate]]:
    """Return the scope's statistics of the query's terms, and the candidates."""
    if not rows:
        return Statistics(0, (), 0.0), []
    memories = _with_neighbours([RankingCandidate.alone(tuple(row[:-1])) for row in rows])
    holding = count_holding([memory.matched for memory in memories], terms=rows[0][-1])
    average = sum([memory.length for memory in memories]) / len(memories)
    statistics = Statistics(len(memories), holding, average)
    if len(memories) <= POOL and all(memory.distance is not None for memory in memories):
        # All are candidates. Their order is only for memories without any relation to the query.
        return statistics, memories
    chosen = {*_by_distance(memories), *_by_words(memories, statistics)}
    # The sort is stable, so the newest remain first in both groups.
    memories.sort(key=lambda memory: memory.memory_id not in chosen)
    return statistics, memories[:POOL]


def _with_neighbours(memories: list[RankingCandidate]) -> list[RankingCandidate]:
    sources: dict[str, list[int]] = defaultdict(list)
    for place, memory in enumerate(memories):
        if memory.source is not None:
            sources[memory.source].append(place)
    for places in sources.values():
        places.sort(key=lambda place: _position(memories[place]))
        around = [NO_NEIGHBOUR, *(_neighbour(memories[place]) for place in places), NO_NEIGHBOUR]
        for place, before, after in zip(places, around, around[2:], strict=False):
            if memories[place].position is not None:
                memories[place] = memories[place].between(before, after)
    return memories


def _position(memory: RankingCandidate) -> tuple[bool, float, str]:
    return memory.position is None, memory.position or 0.0, memory.memory_id


def _neighbour(memory: RankingCandidate) -> Neighbour:
    return memory.distance, memory.matched, memory.length, _QUESTION in (memory.cues or ())


def _by_distance(memories: Sequence[RankingCandidate]) -> list[str]:
    near = [
        (memory.distance, memory.memory_id) for memory in memories if memory.distance is not None
    ]
    if len(near) > BY_DISTANCE:
        near.sort()
    return [memory_id for _, memory_id in near[:BY_DISTANCE]]


def _by_words(memories: Sequence[RankingCandidate], statistics: Statistics) -> list[str]:
    """Return memories that match words, or have a neighbour that does; only the best of many."""
    having = [
        memory
        for memory in memories
        if memory.matched or memory.before_matched or memory.after_matched
    ]
    if len(having) <= BY_WORDS:
        return [memory.memory_id for memory in having]
    bm25 = Bm25(statistics.memories, statistics.holding, statistics.average_length)
    best = []
    for memory in having:
        nearby = bm25.score(memory.matched, memory.length)
        if memory.before_matched:
            nearby += bm25.score(memory.before_matched, memory.before_length or 0)
        if memory.after_matched:
            nearby += bm25.score(memory.after_matched, memory.after_length or 0)
        best.append((-int(nearby * TOLD_APART), memory.memory_id))
    return [memory_id for _, memory_id in sorted(best)[:BY_WORDS]]
