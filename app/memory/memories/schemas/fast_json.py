"""The JSON form of a memory, written without the cost of the schema."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, cast, get_args

from pydantic import PlainSerializer
from pydantic.fields import FieldInfo

from app.kernel.names import EngineName
from app.memory.memories.schemas.memories import DELETION_FIELDS, Memory
from app.memory.memories.schemas.metadata import MemoryMetadataValue
from app.memory.memories.store.columns import MemoryRecord, wire_names
from app.memory.memories.store.tables import MemoryRow, columns_of, empty_value

Writer = Callable[[Any], Any]


def memory_json(engine: EngineName, row: MemoryRecord | MemoryRow) -> dict[str, Any]:
    """Return the same as `Memory.from_row(engine, row).wire()`, in a tenth of its time."""
    fields: dict[str, Any] = {"name": f"{engine}/memories/{row.memory_id}"}
    for (alias, write), value in zip(_WRITERS, _read(row), strict=True):
        shown = value if write is None or value is None else write(value)
        if shown is not None:
            fields[alias] = shown
    fields["etag"] = str(row.version)
    return fields


def _writer(name: str, field: FieldInfo) -> Writer | None:
    if dict[str, MemoryMetadataValue] in get_args(field.annotation):
        return _metadata
    if empty_value(columns_of(MemoryRow)[_ATTRIBUTES[name]]) is not None:
        return _unless_empty
    annotated = (argument for part in get_args(field.annotation) for argument in get_args(part))
    for annotation in (*field.metadata, *annotated):
        if isinstance(annotation, PlainSerializer):
            return cast("Writer", annotation.func)
    return None


def _unless_empty(value: object) -> object:
    return value or None


def _metadata(value: dict[str, Any]) -> dict[str, Any] | None:
    return {key: _as_read(item) for key, item in value.items()} or None


def _as_read(value: dict[str, Any]) -> dict[str, Any]:
    # Postgres writes a large number as digits, so it is read as an integer.
    number = value.get("doubleValue")
    return value if number is None else {"doubleValue": float(number)}


_ATTRIBUTES = wire_names(MemoryRow)


_FIELDS = {
    name: field
    for name, field in Memory.model_fields.items()
    if name not in {"name", "etag", *DELETION_FIELDS}
}
_WRITERS = [(field.alias or name, _writer(name, field)) for name, field in _FIELDS.items()]
_read = attrgetter(*(_ATTRIBUTES[name] for name in _FIELDS))
