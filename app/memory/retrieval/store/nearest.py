"""Selections, for search statements, of the memories of one scope that are nearest to a vector.

A query selects a scope by its digest and compares all of it, whatever the size of the bank. If the
index of a large scope (`indexes.py`) returns fewer hits than requested, the whole scope is
compared, so a search never misses existing memories.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pgvector.sqlalchemy import HALFVEC
from psycopg import sql
from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    DateTime,
    FromClause,
    Integer,
    LargeBinary,
    Select,
    Text,
    and_,
    bindparam,
    cast,
    column,
    false,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.sql.elements import True_

from app.adapters.db.base import JsonList
from app.adapters.db.conditions import BY_SCOPE
from app.adapters.db.session import Session
from app.adapters.db.transaction_settings import set_local
from app.adapters.db.vectors import EMBEDDING
from app.memory.memories.store.repository import is_live
from app.memory.memories.store.tables import MemoryRow, MemoryVectorRow

Vector = NDArray[np.float32]
"""A vector of unit length."""

Nearest = Select[tuple[str, float, Any]]
"""Selection of `memory_id`, its Euclidean `distance`, and its `place`, the address of the row."""

PLACE: ColumnElement[Any] = literal_column("memories.ctid")

MOST = 100
"""Maximum number of memories for one search. An index is always asked for this many, so its hits
do not depend on the number that a request asks for."""
BY_WORDS = MOST // 2
"""Number of candidates with words of the query in them or in their neighbours."""

POOL = MOST
"""Number of candidates, if that many exist; the newest memories fill the rest. It is the maximum
for any search. It is the same for every request, so the first results are the same too."""
EF_SEARCH = MOST
"""Vectors that an index search holds at a time; the benchmark `scale` reports the recall."""
_MAX_SCANNED = 10_000
"""Maximum memories that an index scans to satisfy a filter; beyond it, the scope is compared."""
OF_INDEX: Mapping[str, str | int] = {
    "enable_sort": "off",
    "jit": "off",
    "hnsw.ef_search": EF_SEARCH,
    "hnsw.iterative_scan": "strict_order",
    "hnsw.max_scan_tuples": _MAX_SCANNED,
}
"""Settings for a statement that uses the index of a scope.

Until the planner's statistics include the scope, comparing and sorting all of it seems cheaper. An
iterative scan replaces hits that a filter removes.
"""
_NONE: ColumnElement[int] = literal_column("0")
_ID = MemoryRow.memory_id


@dataclass(frozen=True)
class ScopeQuery:
    """A selection of memories in one scope."""

    engine_id: int
    scope_hash: bytes
    memory_types: Sequence[str]
    clause: ColumnElement[bool]
    now: datetime

    def condition(self) -> ColumnElement[bool]:
        """Select the live memories of the scope that meet the filters."""
        return and_(
            MemoryRow.engine_id == self.engine_id,
            MemoryRow.scope_hash == self.scope_hash,
            self.filters(),
        )

    def filters(self) -> ColumnElement[bool]:
        """Select live memories that meet the filters, in any scope."""
        return and_(self.has_type(MemoryRow), is_live(self.now), self.clause)

    def has_type(self, row: type[MemoryRow]) -> ColumnElement[bool]:
        """Select the memories at `row` that have one of the wanted types."""
        types: Any = self.memory_types
        if not isinstance(types, BindParameter):
            types = literal(list(types), ARRAY(Text))
        return row.memory_type == func.any(types)

    def values(self) -> dict[str, Any]:
        """Return the values for the parameters of `any_query`."""
        return {
            "engine_id": self.engine_id,
            "scope_hash": self.scope_hash,
            "memory_types": list(self.memory_types),
            "now": self.now,
        }

    @property
    def is_unfiltered(self) -> bool:
        """True if the query selects all live memories of the scope with one of its types."""
        return isinstance(self.clause, True_)


def any_query() -> ScopeQuery:
    """Return a query without filters that has parameters for its values."""
    parameter: Any = bindparam
    return ScopeQuery(
        engine_id=parameter("engine_id", type_=BigInteger),
        scope_hash=parameter("scope_hash", type_=LargeBinary),
        memory_types=parameter("memory_types", type_=ARRAY(Text)),
        clause=true(),
        now=parameter("now", type_=DateTime(timezone=True)),
    )


def of_any_scope(*, has_index: bool) -> tuple[ScopeQuery, ColumnElement[str]]:
    """Return a query without filters and a model, with parameters for their values.

    With an index, it has places for the literals of `at_scope` instead of the key's parameters.
    """
    if not has_index:
        return any_query(), bindparam("model_id", type_=Text)
    place: Any = literal_column
    engine_id = place("{engine}::bigint", BigInteger)
    digest = place("'\\x{scope}'::bytea", LargeBinary)
    query = replace(any_query(), engine_id=engine_id, scope_hash=digest)
    return query, place("{model}::text", Text)


def at_scope(statement: bytes, query: ScopeQuery, model_id: str) -> bytes:
    """Fill in the key of one scope and model."""
    # A plan that is kept for other values can use the index of a scope only if these are
    # literals.
    engine_id, digest = b"%d" % query.engine_id, query.scope_hash.hex().encode()
    statement = statement.replace(b"{engine}", engine_id).replace(b"{scope}", digest)
    return statement.replace(b"{model}", sql.Literal(model_id).as_bytes(None))


@dataclass(frozen=True)
class ScopeIndex:
    """The indexes of one large scope: of the vectors of one model, and of words.

    `memories` is the number of memories with a vector, at the sweep's last count.
    """

    dimensions: int
    memories: int = 0


def distances(
    query: ScopeQuery, model_id: str | ColumnElement[str], vector: ColumnElement[Any]
) -> Select[tuple[str, float]]:
    """Select every memory of the scope that has a vector, without the filters and in no order.

    Join it to memories that meet `query.condition()`. The offset keeps it a separate subquery, so
    that distances are joined instead of vectors.
    """
    distance = MemoryVectorRow.vector.l2_distance(vector)
    return (
        select(MemoryVectorRow.memory_id, distance.label("distance"))
        .where(has_vector(query, model_id))
        .correlate_except(MemoryVectorRow)
        .offset(_NONE)
    )


def nearest(
    query: ScopeQuery,
    model_id: str | ColumnElement[str],
    vector: ColumnElement[Any],
    limit: int,
    index: ScopeIndex | None = None,
) -> Nearest:
    """Select the `limit` memories nearest to `vector` that meet the query, nearest first.

    With the index, the order is approximate. Call `plan_for` before a statement with an index.
    """
    if index is None:
        return _exact(query, model_id, vector, limit)
    near = _by_index(query, model_id, vector, limit, index).cte("near")
    is_enough = select(func.count()).select_from(near).scalar_subquery() >= limit
    exact = _exact(query, model_id, vector, limit).where(~is_enough).subquery("all_exact")
    merged = union_all(select(near).where(is_enough), select(exact)).subquery("found")
    return select(merged.c.memory_id, merged.c.distance, merged.c.place).order_by(
        merged.c.distance, merged.c.memory_id
    )


async def plan_for(session: Session, index: ScopeIndex | None) -> None:
    """Make the statements of this transaction use an index of a scope; do nothing for None."""
    # A plan for any scope cannot use the index of one.
    if index is not None:
        await set_local(session, {"plan_cache_mode": "force_custom_plan", **OF_INDEX})


def _exact(
    query: ScopeQuery, model_id: str | ColumnElement[str], vector: ColumnElement[Any], limit: int
) -> Nearest:
    # Both sides of a full join are read once, whatever the statistics. For a new scope,
    # Postgres expects one memory, and would compare a thousand memories pairwise in a nested
    # loop, which a full join cannot be. The planner must not recognise the filter for matches,
    # since it would then simplify the full join.
    wanted = select(MemoryRow.memory_id, PLACE.label("place"), literal(1).label("one"))
    meeting = wanted.where(query.condition()).subquery("meeting")
    having = distances(query, model_id, vector).subquery("having_vector")
    is_match = and_(func.coalesce(meeting.c.one, 0) > 0, func.coalesce(having.c.distance, -1) >= 0)
    return (
        select(meeting.c.memory_id, having.c.distance, meeting.c.place)
        .join_from(meeting, having, meeting.c.memory_id == having.c.memory_id, full=True)
        .where(is_match)
        # The id makes the order total, so that equal distances have the same order every time.
        .order_by(having.c.distance, meeting.c.memory_id)
        .limit(limit)
    )


def _by_index(
    query: ScopeQuery,
    model_id: str | ColumnElement[str],
    vector: ColumnElement[Any],
    limit: int,
    index: ScopeIndex,
) -> Nearest:
    # A second sort key would prevent the use of the index. Memories are joined by their key
    # alone; joined by scope, each vector would match all of them.
    indexed = HALFVEC(index.dimensions)
    distance = cast(MemoryVectorRow.vector, indexed).l2_distance(cast(vector, indexed))
    return (
        select(MemoryVectorRow.memory_id, distance.label("distance"), PLACE.label("place"))
        .join(
            MemoryRow,
            and_(
                MemoryRow.engine_id == MemoryVectorRow.engine_id,
                MemoryRow.memory_id == MemoryVectorRow.memory_id,
            ),
        )
        .where(has_vector(query, model_id), query.filters())
        .order_by(distance)
        .limit(limit)
    )


def has_vector(query: ScopeQuery, model_id: str | ColumnElement[str]) -> ColumnElement[bool]:
    """Select the vectors of a model for memories of the scope that have not expired."""
    return and_(
        MemoryVectorRow.engine_id == query.engine_id,
        MemoryVectorRow.scope_hash == query.scope_hash,
        MemoryVectorRow.model_id == model_id,
        or_(MemoryVectorRow.expire_time.is_(None), MemoryVectorRow.expire_time > query.now),
    )


async def find_nearest(
    session: Session,
    query: ScopeQuery,
    model_id: str,
    vector: Vector,
    limit: int,
    *,
    index: ScopeIndex | None = None,
) -> dict[str, float]:
    """Return Euclidean distances to `vector` by memory, as selected by `nearest`."""
    await plan_for(session, index)
    if query.is_unfiltered:
        values = query.values() | {"model_id": model_id, "vector": vector, "count": limit}
        rows = await session.execute(_unfiltered(index and index.dimensions), values)
    else:
        many = limit if index is None else max(MOST, limit)
        near = nearest(query, model_id, literal(vector, EMBEDDING), many, index).subquery("near")
        rows = await session.execute(_select_near([_ID], query, near).limit(limit))
    return {memory_id: float(distance) for memory_id, distance in rows}


@cache
def _unfiltered(dimensions: int | None) -> Select[*tuple[Any, ...]]:
    # Cached, since building the statement costs the most.
    index = ScopeIndex(dimensions) if dimensions else None
    query, vector = any_query(), bindparam("vector", type_=EMBEDDING)
    model_id: Any = bindparam("model_id", type_=Text)
    limit: Any = bindparam("count", type_=Integer)
    many: Any = limit if index is None else func.greatest(MOST, limit)
    near = nearest(query, model_id, vector, many, index).subquery("near")
    return _select_near([_ID], query, near).limit(limit)


@dataclass(frozen=True)
class NearMemory:
    """A memory to compare with a fact; `distance` is Euclidean, and 0 without a vector."""

    memory_id: str
    version: int
    fact: str | None
    topics: JsonList
    rests_on: datetime
    is_held: bool
    distance: float = 0.0


NEAR_COLUMNS = (
    MemoryRow.memory_id,
    MemoryRow.version,
    MemoryRow.fact,
    MemoryRow.topics,
    MemoryRow.rests_on,
    MemoryRow.held_time.is_not(None),
)
"""Columns of `NearMemory`, in its order, without the distance."""


async def find_nearest_to_each(
    session: Session,
    query: ScopeQuery,
    model_id: str,
    vectors: Sequence[Vector],
    limit: int,
    *,
    index: ScopeIndex | None = None,
) -> list[list[NearMemory]]:
    """Return a list of hits for each of several vectors, in order, as `find_nearest` does."""
    await plan_for(session, index)
    if index is not None:
        # One statement for each vector, since each plan has to know its vector.
        each = [literal(vector, EMBEDDING) for vector in vectors]
        near = [nearest(query, model_id, vector, limit, index).subquery("near") for vector in each]
        results = [
            await session.execute(_select_near(NEAR_COLUMNS, query, selection))
            for selection in near
        ]
        return [[NearMemory(*row) for row in rows] for rows in results]
    values = query.values() | {"model_id": model_id, "vectors": list(vectors), "count": limit}
    statement = _to_each(query) if not query.is_unfiltered else _unfiltered_to_each()
    hits: list[list[NearMemory]] = [[] for _ in vectors]
    for position, *row in await session.execute(statement, values):
        hits[position - 1].append(NearMemory(*row))
    return hits


@cache
def _unfiltered_to_each() -> Select[*tuple[Any, ...]]:
    return _to_each(any_query())


def _to_each(query: ScopeQuery) -> Select[*tuple[Any, ...]]:
    """Select the `count` memories nearest to each of `vectors`; these are parameters."""
    asked = (
        func.unnest(bindparam("vectors", type_=ARRAY(EMBEDDING)))
        .table_valued(column("vector", EMBEDDING), with_ordinality="position")
        .render_derived(name="asked")
    )
    model_id: Any = bindparam("model_id", type_=Text)
    limit: Any = bindparam("count", type_=Integer)
    near = nearest(query, model_id, asked.c.vector, limit).lateral("near")
    both = asked.join(near, true())
    statement = _select_near([asked.c.position, *NEAR_COLUMNS], query, near, both)
    # Without the order of one vector's memories.
    return statement.order_by(None).order_by(asked.c.position, near.c.distance, near.c.memory_id)


def _select_near(
    columns: Sequence[Any], query: ScopeQuery, near: FromClause, source: FromClause | None = None
) -> Select[*tuple[Any, ...]]:
    return (
        select(*columns, near.c.distance)
        .select_from(near if source is None else source)
        # By row address: for a new engine, the planner may choose any index instead of the key's.
        .join(MemoryRow, near.c.place == PLACE)
        .where(MemoryRow.engine_id == query.engine_id)
        .order_by(near.c.distance, near.c.memory_id)
        .execution_options(**BY_SCOPE)
    )


def all_of(*clauses: ColumnElement[bool]) -> ColumnElement[bool]:
    """Select the memories that all clauses select; return `true()` if every clause is `true()`."""
    # SQLAlchemy's conjunction of two such clauses would be neither `True_` nor a plain clause.
    filters = [clause for clause in clauses if not isinstance(clause, True_)]
    return and_(*filters) if filters else true()


def nothing() -> ColumnElement[bool]:
    """Select no memory."""
    return false()
