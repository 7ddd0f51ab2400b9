"""All SQL statements that read or rewrite memories to mask sensitive values in them.

Writing functions are called by `memories/ledger.py` alone. All functions take part in the caller's
transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select, update

from app.adapters.db.bulk import insert_rows
from app.adapters.db.session import Session
from app.adapters.db.subjects import Subject
from app.memory.memories.store import repository
from app.memory.memories.store.changes import Change
from app.memory.memories.store.columns import content_of, no_search_hints
from app.memory.memories.store.roles import ColumnRole, columns_of
from app.memory.memories.store.tables import MemoryRow, RevisionLabelRow, RevisionRow
from app.memory.memories.store.vectors import Vector

MASKED_FIELDS = tuple(columns_of(MemoryRow, ColumnRole.CONTENT))
"""Attributes of memories that hold texts of users."""
MASKED_OF_REVISIONS = (*MASKED_FIELDS, "labels", "extracted_memories")
REVISIONS = RevisionRow.__tablename__


@dataclass(frozen=True)
class Redacted:
    """Memories and revisions as they were read, with the new values of changed attributes.

    Attributes:
        vectors: the vectors of new facts; a fact without one is queued for embedding.
        now: the database's time.
    """

    memories: Sequence[tuple[MemoryRow, Mapping[str, Any]]]
    revisions: Sequence[tuple[RevisionRow, Mapping[str, Any]]]
    vectors: Mapping[str, Vector]
    now: datetime

    def changes(self) -> list[Change]:
        """Return the changes of live memories."""
        return [
            Change(
                row=row,
                content={**content_of(row), **values},
                expire_time=row.expire_time,
                vector=self.vectors.get(values.get("fact", "")),
                is_redaction=True,
            )
            for row, values in self.memories
            if values and row.delete_time is None
        ]


async def list_known(
    session: Session, subject: Subject, after: str, limit: int, now: datetime
) -> Sequence[MemoryRow]:
    """Return the next memories of a subject, including deleted ones that can be recovered."""
    statement = (
        select(MemoryRow)
        .where(subject.selects(MemoryRow), MemoryRow.memory_id > after, repository.is_known(now))
        .order_by(MemoryRow.memory_id)
        .limit(limit)
    )
    return (await session.execute(statement)).scalars().all()


async def list_all(
    session: Session, engine_id: int, memory_ids: Sequence[str], now: datetime, *, for_update: bool
) -> Sequence[MemoryRow]:
    """Return the memories among these that are still known, locked or not."""
    if for_update:
        return await repository.lock(session, engine_id, memory_ids, repository.is_known(now))
    statement = select(MemoryRow).where(
        MemoryRow.engine_id == engine_id, MemoryRow.memory_id.in_(memory_ids)
    )
    return (await session.execute(statement)).scalars().all()


async def list_revisions(
    session: Session, engine_id: int, memory_ids: Sequence[str], after: int, limit: int
) -> Sequence[RevisionRow]:
    """Return the next revisions of memories, in the order of their ids."""
    statement = (
        select(RevisionRow)
        .where(
            RevisionRow.engine_id == engine_id,
            RevisionRow.memory_id.in_(memory_ids),
            RevisionRow.revision_id > after,
        )
        .order_by(RevisionRow.revision_id)
        .limit(limit)
    )
    return (await session.execute(statement)).scalars().all()


async def rewrite(session: Session, redacted: Redacted) -> None:
    """Rewrite revisions and tombstones in place."""
    tombstones = [
        # The sweep for missing search hints computes these again.
        {"engine_id": row.engine_id, "memory_id": row.memory_id, **values, **no_search_hints()}
        for row, values in redacted.memories
        if values and row.delete_time is not None
    ]
    if tombstones:
        await session.execute(update(MemoryRow), tombstones)
    revisions = [
        {
            "engine_id": row.engine_id,
            "revision_id": row.revision_id,
            **values,
            "redact_time": redacted.now,
        }
        for row, values in redacted.revisions
    ]
    if revisions:
        await session.execute(update(RevisionRow), revisions)
    await _rewrite_labels(session, [row for row in revisions if "labels" in row])


async def _rewrite_labels(session: Session, revisions: Sequence[Mapping[str, Any]]) -> None:
    if not revisions:
        return
    engine_id = revisions[0]["engine_id"]
    await session.execute(
        delete(RevisionLabelRow).where(
            RevisionLabelRow.engine_id == engine_id,
            RevisionLabelRow.revision_id.in_([row["revision_id"] for row in revisions]),
        )
    )
    labels = [
        {"engine_id": engine_id, "revision_id": row["revision_id"], "key": key, "value": value}
        for row in revisions
        for key, value in row["labels"].items()
    ]
    await insert_rows(RevisionLabelRow, session, labels)
