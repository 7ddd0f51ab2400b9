"""Queries for memories and revisions to remove. The ledger removes memories."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, func, select, union_all

from app.adapters.db.clock import database_time
from app.adapters.db.session import Session
from app.adapters.db.spread import Key, RowSearch, find_keys, locked, remove_found
from app.memory.memories.store.repository import is_gone
from app.memory.memories.store.tables import MemoryRow, RevisionRow
from app.platform.engines.store import repository as engines

_MEMORY_KEY = (MemoryRow.engine_id, MemoryRow.memory_id)
_REVISION_KEY = (RevisionRow.engine_id, RevisionRow.revision_id)


async def count_matching(session: Session, engine_id: int, clause: ColumnElement[bool]) -> int:
    """Count the memories of an engine that match a purge."""
    statement = (
        select(func.count()).select_from(MemoryRow).where(MemoryRow.engine_id == engine_id, clause)
    )
    return (await session.execute(statement)).scalar_one()


async def list_newest(
    session: Session, engine_id: int, clause: ColumnElement[bool], limit: int
) -> Sequence[MemoryRow]:
    """Return the newest memories that match a purge."""
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
    """Return the next ids after `after` of memories that match a purge, without locks."""
    statement = (
        select(MemoryRow.memory_id)
        .where(MemoryRow.engine_id == engine_id, MemoryRow.memory_id > after, clause)
        .order_by(MemoryRow.memory_id)
        .limit(limit)
    )
    return (await session.execute(statement)).scalars().all()


async def list_ids(session: Session, engine_id: int, limit: int) -> Sequence[str]:
    """Return the ids of up to `limit` memories of an engine in any state."""
    statement = select(MemoryRow.memory_id).where(MemoryRow.engine_id == engine_id).limit(limit)
    return (await session.execute(statement)).scalars().all()


async def find_gone(session: Session, search: RowSearch) -> Sequence[Key]:
    """Find memories of all engines that are no longer readable, for a sweep."""
    # One query per index, each in index order: an `or` condition would read all such memories.
    either = union_all(
        *(
            search.bounded(
                select(*_MEMORY_KEY, ended.label("ended"))
                .where(
                    ended <= database_time(session), which, engines.is_settled(MemoryRow.engine_id)
                )
                .order_by(ended),
                _MEMORY_KEY,
            )
            for ended, which in (
                (MemoryRow.expire_time, MemoryRow.delete_time.is_(None)),
                (MemoryRow.recover_until, MemoryRow.delete_time.is_not(None)),
            )
        )
    ).subquery("either")
    oldest = select(either.c.engine_id, either.c.memory_id).order_by(either.c.ended)
    return await find_keys(session, oldest.limit(search.limit))


async def lock_gone(session: Session, engine_id: int, keys: Sequence[Key]) -> list[str]:
    """Lock the given memories that are no longer readable; return their ids."""
    statement = locked(
        _MEMORY_KEY,
        engine_id,
        keys,
        is_gone(database_time(session)),
        engines.is_engine_settled(engine_id),
    )
    return [memory_id for _, memory_id in await session.execute(statement)]


async def find_expired_revisions(session: Session, search: RowSearch) -> Sequence[Key]:
    """Find expired revisions of all engines, for a sweep."""
    statement = (
        select(*_REVISION_KEY)
        .where(_has_expired(session), engines.is_settled(RevisionRow.engine_id))
        .order_by(RevisionRow.expire_time)
    )
    return await find_keys(session, search.bounded(statement, _REVISION_KEY))


async def remove_expired_revisions(session: Session, engine_id: int, keys: Sequence[Key]) -> int:
    """Remove the given expired revisions, except those locked elsewhere; return the count."""
    return await remove_found(
        RevisionRow,
        _REVISION_KEY,
        session,
        engine_id,
        keys,
        _has_expired(session),
        engines.is_engine_settled(engine_id),
    )


def _has_expired(session: Session) -> ColumnElement[bool]:
    return RevisionRow.expire_time <= database_time(session)
