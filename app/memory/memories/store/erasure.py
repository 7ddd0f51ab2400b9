"""All SQL statements that permanently remove or mask memories, derived rows and callers.

The writing functions are called by `store/ledger.py` alone.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    Subquery,
    and_,
    cast,
    delete,
    func,
    select,
    true,
    union_all,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import InstrumentedAttribute, aliased

from app.adapters.db.bulk import all_of, any_of, insert_rows
from app.adapters.db.session import Session
from app.adapters.db.subjects import Subject
from app.memory.memories.store import repository
from app.memory.memories.store.changes import Change
from app.memory.memories.store.columns import content_of
from app.memory.memories.store.tables import (
    ColumnRole,
    MemoryRow,
    MemoryVectorRow,
    RevisionLabelRow,
    RevisionRow,
    columns_of,
)
from app.memory.memories.store.vectors import Vector
from app.platform.operations.store import kept_requests

MASKED_FIELDS = tuple(columns_of(MemoryRow, ColumnRole.CONTENT))
"""Attributes of memories that hold texts of users."""
MASKED_OF_REVISIONS = (*MASKED_FIELDS, "labels", "extracted_memories")
REVISIONS = RevisionRow.__tablename__


@dataclass(frozen=True)
class ErasedCounts:
    """Counts of permanently removed rows."""

    memories: int
    vectors: int
    revisions: int
    labels: int

    def __add__(self, other: "ErasedCounts") -> "ErasedCounts":
        return ErasedCounts(
            self.memories + other.memories,
            self.vectors + other.vectors,
            self.revisions + other.revisions,
            self.labels + other.labels,
        )


NOTHING_ERASED = ErasedCounts(0, 0, 0, 0)


async def erase(
    session: Session, engine_id: int, memory_ids: Sequence[str], only: ColumnElement[bool]
) -> ErasedCounts:
    """Remove memories that `only` selects, and every row derived from them."""
    locked = (
        select(MemoryRow.memory_id)
        .where(MemoryRow.engine_id == engine_id, MemoryRow.memory_id == any_of(memory_ids), only)
        # Every caller locks rows in this order, which prevents deadlocks.
        .order_by(MemoryRow.memory_id)
        .with_for_update()
    )
    ids = list((await session.execute(locked)).scalars())
    if not ids:
        return NOTHING_ERASED
    labels = await _remove_labels(session, engine_id, ids)
    revisions = await _remove(session, RevisionRow, engine_id, ids)
    vectors = await _remove(session, MemoryVectorRow, engine_id, ids)
    memories = await _remove(session, MemoryRow, engine_id, ids)
    return ErasedCounts(memories, vectors, revisions, labels)


async def _remove(
    session: Session,
    table: type[MemoryRow | MemoryVectorRow | RevisionRow],
    engine_id: int,
    memory_ids: Sequence[str],
) -> int:
    statement = (
        delete(table)
        .where(table.engine_id == engine_id, table.memory_id == any_of(memory_ids))
        .returning(table.memory_id)
        .execution_options(synchronize_session=False)
    )
    return len((await session.execute(statement)).all())


async def _remove_labels(session: Session, engine_id: int, memory_ids: Sequence[str]) -> int:
    # The sweep of expired revisions locks a revision and then its labels; keep that order.
    held = (
        select(RevisionRow.revision_id)
        .where(RevisionRow.engine_id == engine_id, RevisionRow.memory_id == any_of(memory_ids))
        .order_by(RevisionRow.revision_id)
        .with_for_update()
        .cte("held")
    )
    statement = (
        delete(RevisionLabelRow)
        .where(
            RevisionLabelRow.engine_id == engine_id,
            RevisionLabelRow.revision_id.in_(select(held)),
        )
        .returning(RevisionLabelRow.key)
        .execution_options(synchronize_session=False)
    )
    return len((await session.execute(statement)).all())


async def blank_quotes(session: Session, engine_id: int, memory_ids: Sequence[str]) -> None:
    """Empty quotes from the same conversations in other memories and their revisions.

    Call it before the memories are erased, with the engine locked as for rewriting revisions.
    Revisions that another transaction has locked are skipped: such a transaction removes them.
    """
    mine = select(RevisionRow.operation_id).where(
        RevisionRow.engine_id == engine_id,
        RevisionRow.memory_id == any_of(memory_ids),
        # Only engines and models quote; other operations, which may be large, are left out.
        RevisionRow.author.is_not(None),
    )
    is_quoting = and_(
        RevisionRow.engine_id == engine_id,
        RevisionRow.operation_id.in_(mine),
        RevisionRow.memory_id != all_of(memory_ids),
        func.jsonb_array_length(RevisionRow.extracted_memories) > 0,
    )
    # Contexts first: they are found by the quoting revisions, which are emptied last.
    quotes = select(RevisionRow.memory_id, RevisionRow.context).where(is_quoting).cte("quotes")
    near = _of_same_messages(engine_id, memory_ids).cte("near")
    for table, key in ((MemoryRow, MemoryRow.memory_id), (RevisionRow, RevisionRow.revision_id)):
        copied = and_(quotes.c.memory_id == table.memory_id, quotes.c.context == table.context)
        places = ("memory_id", "source", "position")
        is_near = and_(*(near.c[name] == getattr(table, name) for name in places))
        keys = [
            select(key).join(other, is_same).where(table.engine_id == engine_id)
            for other, is_same in ((quotes, copied), (near, is_near))
        ]
        await _blank_contexts(session, engine_id, table, key, union_all(*keys).subquery())
    quoting = (
        select(RevisionRow.revision_id)
        .where(is_quoting)
        .with_for_update(key_share=True, skip_locked=True)
        .cte("quoting")
    )
    await session.execute(
        update(RevisionRow)
        .where(RevisionRow.engine_id == engine_id, RevisionRow.revision_id.in_(select(quoting)))
        .values(extracted_memories=cast([], JSONB))
        .execution_options(synchronize_session=False)
    )


def _of_same_messages(
    engine_id: int, memory_ids: Sequence[str]
) -> Select[str, str | None, float | None]:
    own, erased = aliased(MemoryRow), aliased(MemoryRow)
    places = ("engine_id", "scope_hash", "source", "position")
    is_same = and_(*(getattr(own, name) == getattr(erased, name) for name in places))
    return (
        select(own.memory_id, own.source, own.position)
        .join(erased, is_same)
        .where(own.engine_id == engine_id, erased.memory_id == any_of(memory_ids))
    )


async def _blank_contexts(
    session: Session,
    engine_id: int,
    table: type[MemoryRow | RevisionRow],
    key: InstrumentedAttribute[Any],
    keys: Subquery,
) -> None:
    holding = (
        select(key)
        .where(table.engine_id == engine_id, key.in_(select(keys)), table.context.is_not(None))
        .order_by(key)
        .with_for_update(key_share=True, skip_locked=table is RevisionRow)
        .cte("holding")
    )
    await session.execute(
        update(table)
        .where(table.engine_id == engine_id, key.in_(select(holding)))
        .values(context=None)
        .execution_options(synchronize_session=False)
    )


async def rename_callers(
    session: Session, engine_id: int, callers: Collection[str], alias: str, since: datetime | None
) -> int:
    """Replace callers with an alias in an engine's revisions since a time; return the count."""
    is_recent = true() if since is None else RevisionRow.create_time >= since
    renamed = await session.execute(
        update(RevisionRow)
        .where(RevisionRow.engine_id == engine_id, RevisionRow.caller.in_(callers), is_recent)
        .values(caller=alias)
        .returning(RevisionRow.revision_id)
        .execution_options(synchronize_session=False)
    )
    return len(renamed.all())


async def clear_requests(session: Session, engine_id: int, memory_ids: Sequence[str]) -> None:
    """Clear the stored requests of failed operations on the scopes: a retry would repeat them.

    Call it before the memories are erased.
    """
    statement = (
        select(MemoryRow.scope)
        .where(MemoryRow.engine_id == engine_id, MemoryRow.memory_id == any_of(memory_ids))
        .distinct()
    )
    scopes = (await session.execute(statement)).scalars().all()
    await kept_requests.clear(session, engine_id, kept_requests.concerning(scopes))


# Masking of sensitive values ------------------------------------------------------------------


@dataclass(frozen=True)
class Redacted:
    """Memories and revisions as they were read, with the new values of changed attributes.

    A fact without an entry in `vectors` is queued for embedding; `now` is the database's time.
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
        {
            "engine_id": row.engine_id,
            "memory_id": row.memory_id,
            **values,
            "cues": None,
            "grams": None,
        }
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
