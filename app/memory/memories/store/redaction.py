"""Redaction of memories: their text changes through the ledger, that of their revisions in place.

All functions take part in the caller's transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select, update

from app.adapters.db.session import Session
from app.adapters.db.subjects import Subject
from app.memory.memories.store import ledger, repository
from app.memory.memories.store.changes import Change, ChangeContext
from app.memory.memories.store.columns import content_of
from app.memory.memories.store.tables import MemoryRow, RevisionLabelRow, RevisionRow
from app.memory.memories.store.vectors import Vector

MASKED_FIELDS = (
    "fact",
    "display_name",
    "description",
    "user_metadata",
    "structured_content",
    "context",
)
"""Attributes of memories that hold texts of users; topics and provenance are names."""
MASKED_OF_REVISIONS = (*MASKED_FIELDS, "labels", "extracted_memories")
REVISIONS = RevisionRow.__tablename__


@dataclass(frozen=True)
class Redacted:
    """Memories and revisions, as they were read, with the new values of what changes."""

    memories: Sequence[tuple[MemoryRow, Mapping[str, Any]]]
    revisions: list[tuple[RevisionRow, Mapping[str, Any]]]


async def list_known(
    session: Session, subject: Subject, page: tuple[str, int], now: datetime
) -> Sequence[MemoryRow]:
    """Return the next memories of a subject, deleted ones that can be recovered included."""
    after, limit = page
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
    """Return those of the memories that are still known, locked or not."""
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


async def redact(
    session: Session,
    writing: ChangeContext,
    redacted: Redacted,
    vectors: Mapping[str, Vector],
    now: datetime,
) -> None:
    """Write redacted memories, which the caller has locked, and rewrite their revisions.

    A live memory gets a revision of its own; a tombstone stays one. `vectors` are those of the new
    facts; a fact without one waits for embedding. `now` is the database's time.
    """
    await _rewrite_revisions(session, redacted.revisions, now)
    changed = [(row, values) for row, values in redacted.memories if values]
    await ledger.apply(
        session,
        writing,
        [
            Change(
                row=row,
                content={**content_of(row), **values},
                expire_time=row.expire_time,
                vector=vectors.get(values.get("fact", "")),
                is_redaction=True,
            )
            for row, values in changed
            if row.delete_time is None
        ],
    )
    tombstones = [
        # The sweep that makes missing search hints makes these anew.
        {"engine_id": row.engine_id, "memory_id": row.memory_id, **values, "cues": None}
        for row, values in changed
        if row.delete_time is not None
    ]
    await repository.set_search_hints(session, tombstones)


async def _rewrite_revisions(
    session: Session, changed: Sequence[tuple[RevisionRow, Mapping[str, Any]]], now: datetime
) -> None:
    if not changed:
        return
    keys = [{"engine_id": row.engine_id, "revision_id": row.revision_id} for row, _ in changed]
    rows = [
        {**key, **values, "redact_time": now}
        for key, (_, values) in zip(keys, changed, strict=True)
    ]
    await session.execute(update(RevisionRow), rows)
    labelled = [row for row in rows if "labels" in row]
    if not labelled:
        return
    await session.execute(
        delete(RevisionLabelRow).where(
            RevisionLabelRow.engine_id == labelled[0]["engine_id"],
            RevisionLabelRow.revision_id.in_([row["revision_id"] for row in labelled]),
        )
    )
    await repository.insert_labels(session, labelled)
