"""The searching statements. All enter by the scope, and take part in the caller's transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    column,
    false,
    func,
    literal,
    or_,
    select,
    text,
    true,
    tuple_,
)
from sqlalchemy.dialects.postgresql import ARRAY

from app.db.base import JsonList
from app.db.columns import EMBEDDING
from app.db.conditions import BY_SCOPE
from app.db.session import Session
from app.engines.config import MemoryType
from app.memories.repository import everything, is_live
from app.memories.tables import MemoryRow, MemoryVectorRow

MAX_PROFILE_MEMORIES = 1_000
"""Structured memories of one scope that are read at once."""

Vector = NDArray[np.float32]
"""Of unit length."""


@dataclass(frozen=True)
class ScopeQuery:
    """Which memories of one scope are wanted."""

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
            MemoryRow.memory_type.in_(self.memory_types),
            is_live(self.now),
            self.clause,
        )


def nothing() -> ColumnElement[bool]:
    """Select no memory."""
    return false()


async def find_nearest(
    session: Session, query: ScopeQuery, model_id: str, vector: Vector, limit: int
) -> list[tuple[MemoryRow, float]]:
    """Return memories with their Euclidean distance to `vector`, nearest first. Exact."""
    statement = _nearest([MemoryRow], query, model_id, literal(vector, EMBEDDING), limit)
    rows = await session.execute(statement.execution_options(**BY_SCOPE))
    return [(row, float(found)) for row, found in rows]


@dataclass(frozen=True)
class Near:
    """What a search for several vectors tells of a memory; `distance` is Euclidean."""

    memory_id: str
    version: int
    fact: str | None
    topics: JsonList
    distance: float


async def find_nearest_to_each(
    session: Session, query: ScopeQuery, model_id: str, vectors: Sequence[Vector], limit: int
) -> list[list[Near]]:
    """As `find_nearest` for several vectors at once; return a list for each, in their order.

    The rest of the transaction does without nested loops where it can: of a scope that is new,
    Postgres expects one memory, and would compare each of a thousand with each.
    """
    await session.execute(text("set local enable_nestloop = off"))
    asked = (
        func.unnest(literal(list(vectors), ARRAY(EMBEDDING)))
        .table_valued(column("vector", EMBEDDING), with_ordinality="position")
        .render_derived(name="asked")
    )
    told = (MemoryRow.memory_id, MemoryRow.version, MemoryRow.fact, MemoryRow.topics)
    nearest = _nearest(told, query, model_id, asked.c.vector, limit).lateral("nearest")
    statement = (
        select(asked.c.position, *nearest.c)
        .join_from(asked, nearest, true())
        .order_by(asked.c.position, nearest.c.distance, nearest.c.memory_id)
    )
    found: list[list[Near]] = [[] for _ in vectors]
    for position, *near in await session.execute(statement):
        found[position - 1].append(Near(*near))
    return found


def _nearest(
    told: Sequence[Any], query: ScopeQuery, model_id: str, vector: ColumnElement[Any], limit: int
) -> Select[*tuple[Any, ...]]:
    distance = MemoryVectorRow.vector.l2_distance(vector)
    return (
        select(*told, distance.label("distance"))
        .join(
            MemoryVectorRow,
            and_(
                MemoryVectorRow.engine_id == MemoryRow.engine_id,
                MemoryVectorRow.memory_id == MemoryRow.memory_id,
            ),
        )
        .where(
            query.condition(),
            MemoryVectorRow.engine_id == query.engine_id,
            MemoryVectorRow.scope_hash == query.scope_hash,
            MemoryVectorRow.model_id == model_id,
            or_(MemoryVectorRow.expire_time.is_(None), MemoryVectorRow.expire_time > query.now),
        )
        # The id makes the order total, so that equal distances answer alike every time.
        .order_by(distance, MemoryRow.memory_id)
        .limit(limit)
    )


async def find_newest(
    session: Session, query: ScopeQuery, limit: int, after: tuple[datetime, str] | None
) -> Sequence[MemoryRow]:
    """Return memories of the scope, newest first."""
    key = (MemoryRow.create_time, MemoryRow.memory_id)
    statement = select(MemoryRow).where(query.condition())
    if after is not None:
        statement = statement.where(tuple_(*key) < after)
    statement = statement.order_by(*(column.desc() for column in key)).limit(limit)
    return (await session.execute(statement.execution_options(**BY_SCOPE))).scalars().all()


async def find_profiles(
    session: Session, engine_id: int, scope_hash: bytes, now: datetime
) -> list[MemoryRow]:
    """Return the structured memories of a scope, those that changed last at the end.

    Of more than `MAX_PROFILE_MEMORIES` the others are left out.
    """
    query = ScopeQuery(engine_id, scope_hash, [MemoryType.STRUCTURED_PROFILE], everything(), now)
    statement = (
        select(MemoryRow)
        .where(query.condition(), MemoryRow.structured_content.is_not(None))
        .order_by(MemoryRow.update_time.desc(), MemoryRow.memory_id.desc())
        .limit(MAX_PROFILE_MEMORIES)
        .execution_options(**BY_SCOPE)
    )
    rows = (await session.execute(statement)).scalars().all()
    return list(reversed(rows))
