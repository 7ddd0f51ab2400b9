"""SQL statements that list memories, deleted ones included on request.

All functions take part in the caller's transaction.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, select

from app.adapters.db.arrays import any_of, rows_of
from app.adapters.db.filter_fields import OptionalTimestampField, TimestampField
from app.adapters.db.filters import Fields
from app.adapters.db.pages import Key, ReadRows, Slice, read_page
from app.adapters.db.resource_fields import WithheldField
from app.adapters.db.session import Session
from app.memory.memories.store.repository import FILTER_FIELDS
from app.memory.memories.store.tables import MemoryRow, RevisionRow

_REVISIONS: Any = RevisionRow.__table__
BY_DELETION = "delete_time"
"""The order that is only valid for lists with deleted memories."""
ORDERS = ("create_time", "update_time", BY_DELETION)
"""The columns that a list can be ordered by."""
_OF_DELETED: Fields = {
    "delete_time": OptionalTimestampField(MemoryRow.delete_time),
    "recover_until": TimestampField(MemoryRow.recover_until),
}
LIVE_FIELDS: Fields = {
    **FILTER_FIELDS,
    **dict.fromkeys(_OF_DELETED, WithheldField("showDeleted=true")),
}
"""Fields that the filter of a list of live memories accepts."""
KNOWN_FIELDS: Fields = {**FILTER_FIELDS, **_OF_DELETED}
"""Fields that the filter of a list with deleted memories accepts."""


class DeletedBy(NamedTuple):
    """The operation that deleted a memory, and its caller; None for the service itself."""

    operation_id: str | None
    caller: str | None


def key(by: str) -> Key:
    """Return the order of a list of memories by a column."""
    return getattr(MemoryRow, by), MemoryRow.memory_id


async def list_page(
    session: Session, engine_id: int, clause: ColumnElement[bool], page: Slice
) -> ReadRows[MemoryRow]:
    """Return a page of an engine's memories."""
    statement = select(MemoryRow).where(MemoryRow.engine_id == engine_id, clause)
    return await read_page(session, statement, page)


async def list_named(
    session: Session, engine_id: int, memory_ids: Sequence[str], only: ColumnElement[bool]
) -> Sequence[MemoryRow]:
    """Return the memories among these that `only` selects, in no order."""
    statement = select(MemoryRow).where(
        MemoryRow.engine_id == engine_id, MemoryRow.memory_id == any_of(memory_ids), only
    )
    return (await session.execute(statement)).scalars().all()


async def list_deletions(
    session: Session, engine_id: int, rows: Sequence[MemoryRow], now: datetime
) -> Mapping[str, DeletedBy]:
    """Return the operation and caller of each deletion that has a revision, by memory id."""
    versions = [(row.memory_id, row.version) for row in rows if row.delete_time is not None]
    if not versions:
        return {}
    columns = {name: _REVISIONS.c[name] for name in ("memory_id", "version")}
    asked = rows_of("asked", columns, versions)
    statement = select(RevisionRow.memory_id, RevisionRow.operation_id, RevisionRow.caller).where(
        RevisionRow.engine_id == engine_id,
        RevisionRow.memory_id == asked.c.memory_id,
        RevisionRow.version == asked.c.version,
        RevisionRow.expire_time > now,
    )
    found = await session.execute(statement)
    return {memory_id: DeletedBy(*by) for memory_id, *by in found}
