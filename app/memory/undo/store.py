"""Queries for the effects of an operation on memories; the ledger makes the changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, and_, func, select, tuple_

from app.adapters.db.session import Session
from app.memory.memories.store import listing
from app.memory.memories.store import repository as memories
from app.memory.memories.store.changes import Action
from app.memory.memories.store.tables import MemoryRow, RevisionRow
from app.memory.undo.logic import Trace
from app.platform.operations.store import repository as operations
from app.platform.operations.store.tables import OperationRow

DELETE: Final = "memories.delete"
"""Kind of the operation that deletes one memory."""


@dataclass(frozen=True)
class UndoTarget:
    """A memory that an operation changed; `put_back` are the versions with restored content."""

    trace: Trace
    row: MemoryRow | None
    before: RevisionRow | None
    put_back: frozenset[int]


async def find_operation(
    session: Session, engine_id: int, operation_id: str, now: datetime
) -> OperationRow | None:
    """Return an operation, or None if it is no longer kept."""
    statement = select(OperationRow).where(
        OperationRow.engine_id == engine_id,
        OperationRow.operation_id == operation_id,
        operations.is_kept(now),
    )
    return (await session.execute(statement)).scalar_one_or_none()


async def has_traces(session: Session, engine_id: int, operation_id: str, now: datetime) -> bool:
    """Return True if a revision that an operation made can still be read."""
    statement = select(RevisionRow.revision_id).where(_is_trace(engine_id, operation_id, now))
    return (await session.execute(statement.limit(1))).first() is not None


async def list_deleted(
    session: Session, engine_id: int, operation_id: str, now: datetime, *, for_update: bool = False
) -> list[UndoTarget]:
    """Return the memory that an operation without readable revisions deleted, if it still is."""
    source = await find_operation(session, engine_id, operation_id, now)
    if source is None or source.memory_id is None or source.kind != DELETE:
        return []
    is_its = and_(memories.is_known(now), MemoryRow.delete_time == source.create_time)
    read = memories.lock if for_update else listing.list_named
    return [
        UndoTarget(Trace(row.memory_id, row.version, row.version, None), row, None, frozenset())
        for row in await read(session, source.engine_id, [source.memory_id], is_its)
    ]


async def list_targets(
    session: Session,
    engine_id: int,
    operation_id: str,
    limit: int,
    after: str,
    now: datetime,
    *,
    for_update: bool,
) -> list[UndoTarget]:
    """Return memories that an operation changed, ordered by id, after the id `after`."""
    is_trace = _is_trace(engine_id, operation_id, now)
    traces = await _list_traces(session, is_trace, limit, after)
    if not traces:
        return []
    ids = [trace.memory_id for trace in traces]
    read = memories.lock if for_update else listing.list_named
    present = await read(session, engine_id, ids, memories.everything())
    rows = {row.memory_id: row for row in present}
    before = await _list_before(session, engine_id, traces, now)
    put_back = await _put_back(session, engine_id, present, now)
    return [
        UndoTarget(
            trace,
            rows.get(memory_id),
            before.get(memory_id),
            frozenset(put_back.get(memory_id, ())),
        )
        for memory_id, trace in zip(ids, traces, strict=True)
    ]


def _is_trace(engine_id: int, operation_id: str, now: datetime) -> ColumnElement[bool]:
    return and_(
        RevisionRow.engine_id == engine_id,
        RevisionRow.operation_id == operation_id,
        RevisionRow.action != Action.REDACTED,
        RevisionRow.expire_time > now,
    )


async def _list_traces(
    session: Session, is_trace: ColumnElement[bool], limit: int, after: str
) -> list[Trace]:
    statement = (
        select(
            RevisionRow.memory_id,
            func.min(RevisionRow.version),
            func.max(RevisionRow.version),
            func.max(RevisionRow.revision_id),
        )
        .where(is_trace, RevisionRow.memory_id > after)
        .group_by(RevisionRow.memory_id)
        .order_by(RevisionRow.memory_id)
        .limit(limit)
    )
    return [Trace(*row) for row in await session.execute(statement)]


async def _list_before(
    session: Session, engine_id: int, traces: Sequence[Trace], now: datetime
) -> dict[str, RevisionRow]:
    statement = select(RevisionRow).where(
        RevisionRow.engine_id == engine_id,
        tuple_(RevisionRow.memory_id, RevisionRow.version).in_(
            [(trace.memory_id, trace.first_version - 1) for trace in traces]
        ),
        RevisionRow.expire_time > now,
    )
    return {row.memory_id: row for row in (await session.execute(statement)).scalars()}


async def _put_back(
    session: Session, engine_id: int, rows: Sequence[MemoryRow], now: datetime
) -> dict[str, list[int]]:
    # The revision of a rollback or undo names the restored revision. This revision may also
    # come from a rollback, so the query follows the chain.
    present = [(row.memory_id, row.version) for row in rows]
    columns = (RevisionRow.memory_id, RevisionRow.version, RevisionRow.restored_revision_id)
    kept = and_(RevisionRow.engine_id == engine_id, RevisionRow.expire_time > now)
    newest = select(*columns).where(
        kept,
        tuple_(RevisionRow.memory_id, RevisionRow.version).in_(present),
        RevisionRow.restored_revision_id.is_not(None),
    )
    chain = newest.cte("chain", recursive=True)
    is_restored = RevisionRow.revision_id == chain.c.restored_revision_id
    chain = chain.union_all(select(*columns).where(kept, is_restored))
    versions: dict[str, list[int]] = {}
    for memory_id, version in await session.execute(select(chain.c.memory_id, chain.c.version)):
        versions.setdefault(memory_id, []).append(version)
    return versions
