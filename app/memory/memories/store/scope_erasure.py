"""Erasure of a scope's memories through the ledger.

All functions take part in the caller's transaction.
"""

from sqlalchemy import select

from app.adapters.db.session import Session
from app.adapters.db.subjects import Counts, Erasure, RowsOf, Subject
from app.kernel.names import WILDCARD, EngineName
from app.memory.memories.store import ledger
from app.memory.memories.store.tables import (
    MemoryRow,
    MemoryVectorRow,
    RevisionLabelRow,
    RevisionRow,
    UnembeddedRow,
)
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock

_COUNTED = tuple(RowsOf(row) for row in (MemoryRow, MemoryVectorRow, RevisionRow, RevisionLabelRow))


async def _count(session: Session, subject: Subject) -> Counts:
    counts: dict[str, int] = {}
    for rows in _COUNTED:
        counts |= await rows.count(session, subject)
    return counts


async def _remove(session: Session, subject: Subject, limit: int) -> Counts:
    """Remove up to `limit` memories, deleted ones included, and their derived rows."""
    engine_id = subject.engine_id
    await engines.get(session, EngineName(WILDCARD, WILDCARD, engine_id), Lock.UPDATE)
    some = select(MemoryRow.memory_id).where(subject.selects(MemoryRow)).limit(limit)
    ids = (await session.execute(some)).scalars().all()
    erased = await ledger.erase(session, engine_id, ids, with_scope=True)
    numbers = (erased.memories, erased.vectors, erased.revisions, erased.labels)
    counts = zip((rows.table for rows in _COUNTED), numbers, strict=True)
    return {table: count for table, count in counts if count}


_NAMES = RowsOf(MemoryRow).named("memories", MemoryRow.memory_id)
ERASURES = (
    RowsOf(UnembeddedRow).erasure(),
    Erasure(
        tuple(rows.table for rows in _COUNTED), _count, _remove, _NAMES.collection, _NAMES.find_ids
    ),
)
"""Erasures of the rows that belong to a scope."""
