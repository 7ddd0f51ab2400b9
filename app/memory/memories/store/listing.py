"""SQL statements that list memories, deleted ones included on request.

All functions take part in the caller's transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, select

from app.adapters.db.bulk import any_of, rows_of
from app.adapters.db.filter_fields import OptionalTimestampField, TimestampField
from app.adapters.db.filters import Fields
from app.adapters.db.lists import List
from app.adapters.db.resource_fields import WithheldField
from app.adapters.db.session import Session
from app.memory.memories.store.repository import FILTER_FIELDS
from app.memory.memories.store.tables import MemoryRow, RevisionRow

_REVISIONS: Any = RevisionRow.__table__
_OF_DELETED: Fields = {
    "delete_time": OptionalTimestampField(MemoryRow.delete_time),
    "recover_until": TimestampField(MemoryRow.recover_until),
}
KNOWN = List(
    "memories",
    (MemoryRow.create_time, MemoryRow.memory_id),
    is_descending=True,
    fields={**FILTER_FIELDS, **_OF_DELETED},
    orders=(MemoryRow.create_time, MemoryRow.update_time, MemoryRow.delete_time),
)
"""The list with deleted memories."""
LIVE = replace(
    KNOWN,
    fields={**FILTER_FIELDS, **dict.fromkeys(_OF_DELETED, WithheldField("showDeleted=true"))},
)
"""The list of live memories."""


class DeletedBy(NamedTuple):
    """The operation that deleted a memory, and its caller; None for the service itself."""

    operation_id: str | None
    caller: str | None


def select_memories(engine_id: int, visible: ColumnElement[bool]) -> Select[MemoryRow]:
    """Select the memories of an engine that `visible` selects: `is_live` or `is_known`."""
    return select(MemoryRow).where(MemoryRow.engine_id == engine_id, visible)


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
