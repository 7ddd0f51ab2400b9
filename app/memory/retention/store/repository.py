"""Queries for memories and revisions to remove. The ledger removes the memories.

All functions run in the caller's transaction.
"""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, delete, func, select, tuple_

from app.adapters.db.clock import database_time
from app.adapters.db.session import Session
from app.memory.memories.store.repository import is_gone
from app.memory.memories.store.tables import MemoryRow, RevisionRow
from app.platform.engines.store import repository as engines


async def count_matching(session: Session, engine_id: int, clause: ColumnElement[bool]) -> int:
    """Count the memories of an engine that a purge would take."""
    statement = (
        select(func.count()).select_from(MemoryRow).where(MemoryRow.engine_id == engine_id, clause)
    )
    return (await session.execute(statement)).scalar_one()


async def list_newest(
    session: Session, engine_id: int, clause: ColumnElement[bool], limit: int
) -> Sequence[MemoryRow]:
    """Return the newest of the memories that a purge would take."""
    statement = (
        select(MemoryRow)
        .where(MemoryRow.engine_id == engine_id, clause)
        .order_by(MemoryRow.create_time.desc(), MemoryRow.memory_id.desc())
        .limit(limit)
    )
    return (await session.execute(statement)).scalars().all()


async def list_matching(
    session: Session, engine_id: int, clause: ColumnElement[bool], limit: int, after: str
) -> Sequence[str]:
    """Return the next ids after `after` of memories that a purge takes, without locks."""
    statement = (
        select(MemoryRow.memory_id)
        .where(MemoryRow.engine_id == engine_id, MemoryRow.memory_id > after, clause)
        .order_by(MemoryRow.memory_id)
        .limit(limit)
    )
    return (await session.execute(statement)).scalars().all()


async def list_ids(session: Session, engine_id: int, limit: int) -> Sequence[str]:
    """Return the ids of up to `limit` memories of an engine, whatever their state."""
    statement = select(MemoryRow.memory_id).where(MemoryRow.engine_id == engine_id).limit(limit)
    return (await session.execute(statement)).scalars().all()


async def list_gone(session: Session, limit: int) -> dict[int, list[str]]:
    """Lock and return up to `limit` memories that are no longer readable, by engine."""
    statement = (
        select(MemoryRow.engine_id, MemoryRow.memory_id)
        .where(is_gone(database_time(session)), engines.is_settled(MemoryRow.engine_id))
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    by_engine: dict[int, list[str]] = {}
    for engine_id, memory_id in await session.execute(statement):
        by_engine.setdefault(engine_id, []).append(memory_id)
    return by_engine


async def remove_expired_revisions(session: Session, limit: int) -> int:
    """Remove up to `limit` expired revisions of all engines; return the count."""
    key = (RevisionRow.engine_id, RevisionRow.revision_id)
    old = (
        select(*key)
        .where(
            RevisionRow.expire_time <= database_time(session),
            engines.is_settled(RevisionRow.engine_id),
        )
        .limit(limit)
        # Skip revisions that another transaction removes with their memories.
        .with_for_update(skip_locked=True)
        .cte("old")
    )
    statement = (
        delete(RevisionRow)
        .where(tuple_(*key).in_(select(old)))
        .returning(RevisionRow.revision_id)
        .execution_options(synchronize_session=False)
    )
    return len((await session.execute(statement)).all())
