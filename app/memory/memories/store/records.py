"""Memories in the form that the fast statements read."""

from datetime import datetime
from typing import Any, NamedTuple

from app.memory.memories.store.columns import read_fields
from app.memory.memories.store.roles import check_equal
from app.memory.memories.store.tables import MemoryRow


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
