"""Changes of the fields of a scope's profiles (pure).

Source: wire specification, sections 11 and 12.2.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from app.kernel.wire.json_schema import JsonObject
from app.kernel.wire.json_values import alike, conforms, is_small, same, spelled, without
from app.language.taking_back import takes_back
from app.memory.generation.logic.profiles import (
    FieldChange,
    FieldValue,
    ProfileField,
    ProfileSchema,
    StoredField,
)


def plan_fields(
    values: Sequence[FieldValue],
    stored: Sequence[StoredField],
    *,
    max_deletes: int,
    schemas: Sequence[ProfileSchema] = (),
) -> tuple[FieldChange, ...]:
    """Turn values into changes: at most one for each memory, and none if nothing is new.

    The latest value of a field counts, except that lists grow: a list is taken as the items said at
    one time, not as all there are. Items leave a list when they are taken back.

    Args:
        values: in the order of the conversation; those of one turn in their order.
        stored: all fields of the scope's profiles, those changed last at the end.
        max_deletes: the most fields that may be cleared.
        schemas: limit the growth of lists; the oldest items go first.
    """
    plan = _Plan(stored, schemas)
    for said in sorted(values, key=lambda value: value.turn):
        plan.take(said)
    return tuple(plan.changes(max_deletes))


@dataclass
class _Cell:
    """A field during planning; `holders` are the memories that have it, oldest first."""

    value: JsonValue = None
    holders: list[str] = field(default_factory=list)
    extracted: list[FieldValue] = field(default_factory=list)


@dataclass
class _Memory:
    """A stored memory during planning: its new data, and the changes in it."""

    version: int
    schema_id: str
    data: JsonObject = field(default_factory=dict)
    changed: list[tuple[str, str, list[FieldValue]]] = field(default_factory=list)

    def change(self, memory_id: str) -> FieldChange:
        """Return all changes in the memory as one change."""
        name, reason, _ = self.changed[-1]
        return FieldChange(
            "UPDATED" if self.data else "DELETED",
            memory_id,
            self.version,
            self.schema_id,
            name,
            self.data.get(name),
            reason,
            tuple(value for _, _, extracted in self.changed for value in extracted),
            dict(self.data),
        )


class _Plan:
    """The fields of a scope during planning."""

    def __init__(self, stored: Sequence[StoredField], schemas: Sequence[ProfileSchema]) -> None:
        self._schemas = {schema.schema_id: schema for schema in schemas}
        self._cells: dict[tuple[str, str], _Cell] = {}
        self._memories: dict[str, _Memory] = {}
        for known in stored:
            memory = self._memories.setdefault(
                known.memory_id, _Memory(known.version, known.schema_id)
            )
            memory.data[known.field] = known.value
            cell = self._cells.setdefault((known.schema_id, known.field), _Cell())
            cell.value = known.value
            cell.holders.append(known.memory_id)

    def take(self, said: FieldValue) -> None:
        """Apply a statement to its field; the field is cleared only if the words say so."""
        cell = self._cells.setdefault((said.schema_id, said.field), _Cell())
        if said.clear:
            left = self._remaining(said, cell.value)
            if same(left, cell.value):
                return
            cell.value = left
        else:
            cell.value = self._joined(said, cell.value)
        cell.extracted.append(said)

    def _joined(self, said: FieldValue, present: JsonValue) -> JsonValue:
        """Return the new value; lists are joined, as far as the field has room for older items."""
        new = said.value
        if not isinstance(new, list) or not isinstance(present, list):
            return new
        older = [item for item in present if not any(alike(item, other) for other in new)]
        if len(older) + len(new) == len(present):
            older, new = present, []  # no item is new, so the order stays as well
        dropped = bisect_left(
            range(len(older)), True, key=lambda n: self._takes(said, [*older[n:], *new])
        )
        return [*older[dropped:], *new] or said.value

    def _remaining(self, said: FieldValue, present: JsonValue) -> JsonValue:
        """Return the value that remains by the user's own words, not only by their reader's."""
        wanted = (self._field_of(said) or ProfileField(said.field, {})).wanted(said.schema_id)
        if said.value is None and takes_back(said.source, wanted):
            return None
        named = present if said.value is None else said.value
        items = named if isinstance(named, list) else [named]
        gone = [item for item in items if takes_back(said.source, wanted, spelled(item))]
        if isinstance(present, list):
            return without(present, gone)
        return without(present, gone[0]) if gone else present

    def _field_of(self, said: FieldValue) -> ProfileField | None:
        schema = self._schemas.get(said.schema_id)
        return schema.field(said.field) if schema is not None else None

    def _takes(self, said: FieldValue, value: JsonValue) -> bool:
        known = self._field_of(said)
        return conforms(known.json_schema, value) if known is not None else is_small(value)

    def changes(self, max_deletes: int) -> Iterator[FieldChange]:
        """Yield the changes of stored memories, then the new memories."""
        left = max_deletes
        created = []
        for (schema_id, name), cell in self._cells.items():
            if not cell.extracted:
                continue
            if cell.value is None:
                left -= self._clear(name, cell, left)
            elif not cell.holders:
                created.append(_created(schema_id, name, cell))
            else:
                self._set(name, cell)
        for memory_id, memory in self._memories.items():
            if memory.changed:
                yield memory.change(memory_id)
        yield from created

    def _clear(self, name: str, cell: _Cell, at_most: int) -> int:
        """Remove the field from the memories that have it; return their number."""
        chosen = cell.holders if len(cell.holders) <= at_most else []
        for memory_id in chosen:
            memory = self._memories[memory_id]
            del memory.data[name]
            memory.changed.append((name, "asked to forget", cell.extracted))
        return len(chosen)

    def _set(self, name: str, cell: _Cell) -> None:
        """Set the field in the memory that counts, the one changed last."""
        memory = self._memories[cell.holders[-1]]
        if not same(memory.data[name], cell.value):
            memory.data[name] = cell.value
            memory.changed.append((name, "changed", cell.extracted))


def _created(schema_id: str, name: str, cell: _Cell) -> FieldChange:
    extracted = tuple(cell.extracted)
    data = {name: cell.value}
    return FieldChange("CREATED", None, None, schema_id, name, cell.value, "new", extracted, data)
