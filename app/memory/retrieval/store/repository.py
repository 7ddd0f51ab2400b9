"""Search statements; all select by scope and take part in the caller's transaction."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Select, select

from app.adapters.db.conditions import BY_SCOPE
from app.adapters.db.lists import ReadRows, Slice, bytes_of, read_by_key, read_page
from app.adapters.db.session import Session
from app.kernel.paging import first_within
from app.memory.memories.store.repository import everything
from app.memory.memories.store.tables import MemoryRow
from app.memory.retrieval.store.nearest import ScopeQuery
from app.platform.engines.logic.config import MemoryType

MAX_PROFILE_MEMORIES = 1_000
"""Maximum number of structured memories of one scope that are read at once."""
NEWEST = (MemoryRow.create_time, MemoryRow.memory_id)
"""The order of memories outside a search, descending."""


async def find_by_ids(
    session: Session, query: ScopeQuery, memory_ids: Sequence[str], max_bytes: int
) -> dict[str, MemoryRow]:
    """Return memories that a search of this transaction matched in the scope, by id.

    Only the first memories with at most `max_bytes` in total are read.
    """
    if not memory_ids:
        return {}
    statement = (
        select(MemoryRow)
        .where(MemoryRow.engine_id == query.engine_id)
        .execution_options(**BY_SCOPE)
    )

    async def read(ids: Sequence[str]) -> dict[str, MemoryRow]:
        rows = await session.execute(statement.where(MemoryRow.memory_id.in_(ids)))
        return {row.memory_id: row for row in rows.scalars()}

    named = statement.where(MemoryRow.memory_id.in_(memory_ids))
    sized: Select[str, int] = named.with_only_columns(
        MemoryRow.memory_id, bytes_of(statement).label("size")
    )
    sizes = {row.memory_id: row.size for row in await session.execute(sized)}
    return await read_by_key(first_within(sizes, memory_ids, max_bytes), read)


def newest(count: int) -> Slice:
    """Select the newest memories, without a next page."""
    return Slice(NEWEST, count, is_descending=True)


async def find_newest(session: Session, query: ScopeQuery, page: Slice) -> ReadRows[MemoryRow]:
    """Return a page of the memories of the scope."""
    statement = select(MemoryRow).where(query.condition()).execution_options(**BY_SCOPE)
    return await read_page(session, statement, page)


async def find_profiles(
    session: Session, engine_id: int, scope_hash: bytes, now: datetime
) -> list[MemoryRow]:
    """Return at most `MAX_PROFILE_MEMORIES` structured memories, the latest changed last."""
    statement = _profiles(engine_id, scope_hash, now)
    rows = (await session.execute(statement)).scalars().all()
    return list(reversed(rows))


async def find_profile_contents(
    session: Session, engine_id: int, scope_hash: bytes, now: datetime
) -> list[dict[str, Any]]:
    """Return the contents of the memories from `find_profiles`, without their other columns."""
    statement = _profiles(engine_id, scope_hash, now)
    columns = statement.with_only_columns(MemoryRow.structured_content)
    contents = (await session.execute(columns)).scalars().all()
    return [content or {} for content in reversed(contents)]


def _profiles(engine_id: int, scope_hash: bytes, now: datetime) -> Select[MemoryRow]:
    query = ScopeQuery(engine_id, scope_hash, [MemoryType.STRUCTURED_PROFILE], everything(), now)
    return (
        select(MemoryRow)
        .where(query.condition(), MemoryRow.structured_content.is_not(None))
        .order_by(MemoryRow.update_time.desc(), MemoryRow.memory_id.desc())
        .limit(MAX_PROFILE_MEMORIES)
        .execution_options(**BY_SCOPE)
    )
