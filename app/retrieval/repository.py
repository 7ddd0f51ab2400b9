"""The searching statements. All enter by the scope, and take part in the caller's transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, or_, select, tuple_

from app.db.session import Session
from app.memories.repository import is_live
from app.memories.tables import MemoryRow, MemoryVectorRow


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


async def find_nearest(
    session: Session, query: ScopeQuery, model_id: str, vector: Sequence[float], limit: int
) -> list[tuple[MemoryRow, float]]:
    """Return memories with their Euclidean distance to `vector`, nearest first. Exact."""
    distance = MemoryVectorRow.vector.l2_distance(vector)
    statement = (
        select(MemoryRow, distance.label("distance"))
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
    return [(row, float(found)) for row, found in await session.execute(statement)]


async def find_newest(
    session: Session, query: ScopeQuery, limit: int, after: tuple[datetime, str] | None
) -> Sequence[MemoryRow]:
    """Return memories of the scope, newest first."""
    key = (MemoryRow.create_time, MemoryRow.memory_id)
    statement = select(MemoryRow).where(query.condition())
    if after is not None:
        statement = statement.where(tuple_(*key) < after)
    statement = statement.order_by(*(column.desc() for column in key)).limit(limit)
    return (await session.execute(statement)).scalars().all()
