"""Search statements; all select by scope and take part in the caller's transaction."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select

from app.adapters.db.conditions import BY_SCOPE
from app.adapters.db.pages import Slice
from app.adapters.db.session import Session
from app.memory.memories.store.repository import everything
from app.memory.memories.store.tables import MemoryRow
from app.memory.retrieval.store.nearest import ScopeQuery
from app.platform.engines.logic.config import MemoryType

MAX_PROFILE_MEMORIES = 1_000
"""Limit of structured memories of one scope that are read at once."""
NEWEST = (MemoryRow.create_time, MemoryRow.memory_id)
"""The order of memories that are not searched for, descending."""


async def find_by_ids(
    session: Session, query: ScopeQuery, memory_ids: Sequence[str]
) -> dict[str, MemoryRow]:
    """Return memories that a search of this transaction matched in the scope, by id."""
    statement = select(MemoryRow).where(
        MemoryRow.engine_id == query.engine_id, MemoryRow.memory_id.in_(memory_ids)
    )
    rows = await session.execute(statement.execution_options(**BY_SCOPE))
    return {row.memory_id: row for row in rows.scalars()}


def newest(count: int) -> Slice:
    """Select the newest memories, of which no next page is asked for."""
    return Slice(NEWEST, count, is_descending=True)


async def find_newest(session: Session, query: ScopeQuery, page: Slice) -> Sequence[MemoryRow]:
    """Return a page of the memories of the scope."""
    statement = page.applied(select(MemoryRow).where(query.condition()))
    return (await session.execute(statement.execution_options(**BY_SCOPE))).scalars().all()


async def find_profiles(
    session: Session, engine_id: int, scope_hash: bytes, now: datetime
) -> list[MemoryRow]:
    """Return the structured memories of a scope, ordered by last change, the latest at the end.

    A scope with more than `MAX_PROFILE_MEMORIES` loses those that changed longest ago.
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
