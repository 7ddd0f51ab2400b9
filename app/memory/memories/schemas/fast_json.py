"""The JSON of a memory, written without the schema's cost."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, cast, get_args

from pydantic import PlainSerializer
from pydantic.fields import FieldInfo

from app.kernel.names import EngineName
from app.memory.memories.schemas.memories import Memory, MemoryMetadataValue
from app.memory.memories.store.columns import wire_names
from app.memory.memories.store.records import StoredMemory
from app.memory.memories.store.roles import columns_of, empty_value
from app.memory.memories.store.tables import MemoryRow

Writer = Callable[[Any], Any]


def memory_json(engine: EngineName, row: StoredMemory | MemoryRow) -> dict[str, Any]:
    """Return what `Memory.from_row(engine, row).wire()` does, in a tenth of its time."""
    told: dict[str, Any] = {"name": f"{engine}/memories/{row.memory_id}"}
    for (alias, write), value in zip(_TOLD, _read(row), strict=True):
        shown = value if write is None or value is None else write(value)
        if shown is not None:
            told[alias] = shown
    told["etag"] = str(row.version)
    return told


def _writer(name: str, field: FieldInfo) -> Writer | None:
    """Return how a column's value becomes that of a field of `Memory`; None: it is that already."""
    if dict[str, MemoryMetadataValue] in get_args(field.annotation):
        return _metadata
    if empty_value(columns_of(MemoryRow)[_ATTRIBUTES[name]]) is not None:
        return _unless_empty
    annotated = (one for part in get_args(field.annotation) for one in get_args(part))
    for one in (*field.metadata, *annotated):
        if isinstance(one, PlainSerializer):
            return cast("Writer", one.func)
    return None


def _unless_empty(value: object) -> object:
    return value or None


def _metadata(value: dict[str, Any]) -> dict[str, Any] | None:
    return {key: _as_read(one) for key, one in value.items()} or None


def _as_read(value: dict[str, Any]) -> dict[str, Any]:
    # Postgres writes a large number out in digits, which are then read as an integer.
    number = value.get("doubleValue")
    return value if number is None else {"doubleValue": float(number)}


_ATTRIBUTES = wire_names(MemoryRow)


_FIELDS = {
    name: field for name, field in Memory.model_fields.items() if name not in {"name", "etag"}
}


_TOLD = [(field.alias or name, _writer(name, field)) for name, field in _FIELDS.items()]


_read = attrgetter(*(_ATTRIBUTES[name] for name in _FIELDS))
