"""Column lists of memories and revisions, by attribute name, all derived from `tables.py`."""

from datetime import datetime
from typing import Any, NamedTuple

from app.memory.memories.store.tables import (
    ColumnRole,
    MemoryContent,
    MemoryRow,
    RevisionRow,
    Row,
    check_equal,
    columns_of,
    empty_value,
)

SHARED_ROLES = (ColumnRole.CONTENT, ColumnRole.KEPT, ColumnRole.PROVENANCE)
"""Roles of the columns of `MemoryContent`."""
_UNWRITTEN = (ColumnRole.TOMBSTONE, ColumnRole.COMPUTED)


def wire_names(row: Row, *roles: ColumnRole) -> dict[str, str]:
    """Return attribute names by wire names, which are also the database's column names."""
    return {column.name: name for name, column in columns_of(row, *roles).items()}


def read_fields(row: Row) -> tuple[str, ...]:
    """Return the attributes that a get or a retrieval reads."""
    return ("memory_id", *columns_of(row, *SHARED_ROLES, ColumnRole.STATE))


def inserted_fields(row: Row) -> tuple[str, ...]:
    """Return the attributes that an insert sets; other columns are null or computed."""
    return tuple(columns_of(row, *(role for role in ColumnRole if role not in _UNWRITTEN)))


_RESTORED = columns_of(MemoryRow, ColumnRole.CONTENT, ColumnRole.PROVENANCE)
CONTENT_FIELDS = tuple(_RESTORED)
"""Attributes that a change sets, and a rollback or an undo restores."""
COPIED_FIELDS = tuple(columns_of(RevisionRow, ColumnRole.KEY, ColumnRole.STATE, *SHARED_ROLES))
"""Attributes that a revision copies from its memory."""
_SHOWN = [
    (column.name, name, empty_value(column))
    for name, column in columns_of(MemoryRow, ColumnRole.CONTENT, ColumnRole.KEPT).items()
]


def content_of(row: MemoryContent) -> dict[str, Any]:
    """Return the `CONTENT_FIELDS` of a memory or a revision."""
    return {name: getattr(row, name) for name in CONTENT_FIELDS}


def no_content() -> dict[str, Any]:
    """Return empty values for the `CONTENT_FIELDS`."""
    return {name: empty_value(column) for name, column in _RESTORED.items()}


def shown_content(row: MemoryContent) -> dict[str, Any]:
    """Return the content of a memory or a revision by wire name, with None for empty values."""
    return {
        name: None if (value := getattr(row, attribute)) == empty else value
        for name, attribute, empty in _SHOWN
    }


check_equal(
    "MemoryContent",
    MemoryContent.__annotations__,
    {*columns_of(MemoryRow, *SHARED_ROLES), *columns_of(RevisionRow, *SHARED_ROLES)},
)


class MemoryRecord(NamedTuple):
    """The columns of a memory that readers get, by attribute name."""

    memory_id: str
    version: int
    scope: dict[str, str]
    fact: str | None
    display_name: str | None
    description: str | None
    topics: list[dict[str, Any]]
    user_metadata: dict[str, Any]
    memory_type: str
    structured_content: dict[str, Any] | None
    context: str | None
    source: str | None
    position: float | None
    event_time: datetime | None
    create_time: datetime
    update_time: datetime
    expire_time: datetime | None


check_equal("MemoryRecord", MemoryRecord._fields, read_fields(MemoryRow))
