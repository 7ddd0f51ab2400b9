"""Statements on many memories at once."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, select

from app.adapters.db.bulk import any_of
from app.adapters.db.session import Session
from app.memory.memories.store.tables import MemoryRow, RevisionRow


async def find_all(
    session: Session, engine_id: int, memory_ids: Sequence[str], visible: ColumnElement[bool]
) -> dict[str, MemoryRow]:
    """Return the memories that `visible` selects, by id."""
    if not memory_ids:
        return {}
    statement = select(MemoryRow).where(
        MemoryRow.engine_id == engine_id, MemoryRow.memory_id == any_of(memory_ids), visible
    )
    return {row.memory_id: row for row in (await session.execute(statement)).scalars()}


async def find_creations(
    session: Session, engine_id: int, memory_ids: Sequence[str], now: datetime
) -> dict[str, RevisionRow]:
    """Return the first revisions of memories that are still kept, by memory id."""
    if not memory_ids:
        return {}
    statement = select(RevisionRow).where(
        RevisionRow.engine_id == engine_id,
        RevisionRow.memory_id == any_of(memory_ids),
        RevisionRow.version == 1,
        RevisionRow.expire_time > now,
    )
    return {row.memory_id: row for row in (await session.execute(statement)).scalars()}
