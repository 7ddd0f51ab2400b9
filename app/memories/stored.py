"""Memories as the hot statements read them, and how they are told."""

from datetime import datetime
from typing import Any, NamedTuple

from app.core.names import EngineName
from app.memories.tables import MemoryRow
from app.wire.scalars import format_timestamp


class StoredMemory(NamedTuple):
    """What a memory's readers are told of its row, by the names of its columns."""

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
    create_time: datetime
    update_time: datetime
    expire_time: datetime | None


def memory_json(engine: EngineName, row: StoredMemory | MemoryRow) -> dict[str, Any]:
    """Return what `Memory.from_row(engine, row).wire()` does, in a tenth of its time."""
    metadata = {key: _as_read(value) for key, value in row.user_metadata.items()}
    found = {
        "name": f"{engine}/memories/{row.memory_id}",
        "fact": row.fact,
        "scope": row.scope,
        "displayName": row.display_name,
        "description": row.description,
        "topics": row.topics or None,
        "metadata": metadata or None,
        "memoryType": row.memory_type,
        "structuredContent": row.structured_content,
        "context": row.context,
        "createTime": format_timestamp(row.create_time),
        "updateTime": format_timestamp(row.update_time),
        "expireTime": row.expire_time and format_timestamp(row.expire_time),
        "etag": str(row.version),
    }
    return {name: value for name, value in found.items() if value is not None}


def _as_read(value: dict[str, Any]) -> dict[str, Any]:
    # Postgres writes a large number out in digits, which are then read as an integer.
    number = value.get("doubleValue")
    return value if number is None else {"doubleValue": float(number)}
