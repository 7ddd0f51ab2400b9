"""Changes of the fields of a scope's profiles (wire specification, sections 11 and 12.2)."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from pydantic import JsonValue

from app.kernel.wire.json_schema import JsonObject
from app.kernel.wire.json_values import alike, conforms, is_small, same, spelled
from app.memory.generation.logic.outcomes import DroppedValue, FieldReason
from app.memory.generation.logic.profiles import (
    FieldChange,
    FieldValue,
    ProfileField,
    ProfileSchema,
    StoredField,
    joined,
    merged,
    positions_of,
)
from app.memory.memories.logic.provenance import EndedFact


def plan_fields(
    values: Sequence[FieldValue],
    stored: Sequence[StoredField],
    *,
    max_deletes: int,
    schemas: Sequence[ProfileSchema] = (),
    ended: Mapping[tuple[str, str], EndedFact] = MappingProxyType({}),
) -> tuple[list[FieldChange], list[DroppedValue]]:
    """Turn values into changes, at most one for each memory, and statements without effect.

    The latest value of a field counts, but lists grow: a stated list adds its items to the stored
    list. Items leave a list when they are taken back. A field that rests on a later time than a
    statement stays unchanged.

    Args:
        values: in the order of the conversation; values of one turn in their order.
        stored: all fields of the scope's profiles, the most recently changed last.
        max_deletes: the maximum number of fields to clear.
        schemas: limit the growth of lists; the oldest items are dropped first.
        ended: the ends of fields that deleted memories had, by profile and name.
    """
    plan = _Plan(stored, schemas, ended)
    for said in sorted(values, key=lambda value: value.turn):
        plan.take(said)
    return list(plan.changes(max_deletes)), plan.dropped


@dataclass
class _Cell:
    """A field during planning; `holders` are the memories that have it, oldest first."""

    value: JsonValue = None
    holders: list[str] = field(default_factory=list)
    extracted: list[FieldValue] = field(default_factory=list)
    rests_on: datetime | None = None
    is_held: bool = False
    ended: EndedFact | None = None

    def hold(self, known: StoredField) -> None:
        self.value = known.value
        self.holders.append(known.memory_id)
        self.is_held |= known.is_held
        if known.rests_on is not None:
            self.rests_on = max(known.rests_on, self.rests_on or known.rests_on)

    def forbids(self, said: FieldValue) -> FieldReason | None:
        if said.is_repeat and (self.is_held or not self.holders):
            return "ALREADY_READ"
        newer = self.rests_on
        if not self.holders and self.ended is not None:
            newer = self.ended.ended_at
        is_older = newer and said.said_at and said.said_at < newer
        return "OLDER" if is_older else None

    @property
    def told_by(self) -> str | None:
        """The memory that rests on the latest time, or was deleted then."""
        if self.holders:
            return self.holders[-1]
        return None if self.ended is None else self.ended.memory_id

    def is_renewed(self, said: FieldValue) -> bool:
        """Return True if a statement repeats the value at a later time than the value's."""
        if said.action != "set" or said.is_repeat or said.said_at is None:
            return False
        return self.rests_on is not None and said.said_at > self.rests_on


@dataclass
class _Memory:
    version: int
    schema_id: str
    data: JsonObject = field(default_factory=dict)
    changed: list[tuple[str, str, list[FieldValue]]] = field(default_factory=list)

    def change(self, memory_id: str) -> FieldChange:
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
    def __init__(
        self,
        stored: Sequence[StoredField],
        schemas: Sequence[ProfileSchema],
        ended: Mapping[tuple[str, str], EndedFact],
    ) -> None:
        self.dropped: list[DroppedValue] = []
        self._schemas = {schema.schema_id: schema for schema in schemas}
        self._cells: dict[tuple[str, str], _Cell] = {}
        self._memories: dict[str, _Memory] = {}
        for known in stored:
            memory = self._memories.setdefault(
                known.memory_id, _Memory(known.version, known.schema_id)
            )
            memory.data[known.field] = known.value
            self._cells.setdefault((known.schema_id, known.field), _Cell()).hold(known)
        for place, end in ended.items():
            self._cells.setdefault(place, _Cell()).ended = end

    def take(self, said: FieldValue) -> None:
        cell = self._cells.setdefault((said.schema_id, said.field), _Cell())
        value, fault = self._applied(said, cell.value)
        if fault is None and same(value, cell.value):
            if cell.is_renewed(said):
                cell.extracted.append(said)
            return
        reason = fault or cell.forbids(said)
        if reason is None:
            cell.value = value
            cell.extracted.append(said)
            return
        newer = cell.told_by if reason == "OLDER" else None
        self.dropped.append(said.dropped(reason, newer))

    def _applied(
        self, said: FieldValue, present: JsonValue
    ) -> tuple[JsonValue, FieldReason | None]:
        """Return the value of a field after a statement, and the fault of the statement, if any."""
        match said.action:
            case "clear":
                return None, None
            case "remove":
                return self._remaining(said, present)
            case "change":
                return self._changed(said, present)
            case "set":
                value = self._joined(said, present)
                fits = not isinstance(value, list) or self._takes(said, value)
                return value, None if fits else "BAD_VALUE"

    def _joined(self, said: FieldValue, present: JsonValue) -> JsonValue:
        """Return the new value; lists are joined as far as the field has room for older items."""
        if not isinstance(said.value, list) or not isinstance(present, list):
            return said.value
        changed, new = joined(present, said.value, self._field_of(said).item_key)
        older = [item for item in changed if not any(alike(item, other) for other in new)]
        if len(older) + len(new) == len(changed):
            older, new = changed, []  # no item is new, so the order stays too
        dropped = bisect_left(
            range(len(older)), True, key=lambda n: self._takes(said, [*older[n:], *new])
        )
        return [*older[dropped:], *new] or said.value

    def _remaining(
        self, said: FieldValue, present: JsonValue
    ) -> tuple[JsonValue, FieldReason | None]:
        if present is None:
            return None, None
        named = said.value if isinstance(said.value, list) else [said.value]
        if not isinstance(present, list):
            is_meant = any(alike(present, name) for name in named)
            return (None, None) if is_meant else (present, "NOT_PRESENT")
        key = self._field_of(said).item_key
        gone = {at for name in named for at in positions_of(present, spelled(name), key)}
        if not gone:
            return present, "NOT_PRESENT"
        return [item for at, item in enumerate(present) if at not in gone] or None, None

    def _changed(
        self, said: FieldValue, present: JsonValue
    ) -> tuple[JsonValue, FieldReason | None]:
        known = self._field_of(said)
        items = present if isinstance(present, list) else []
        at = positions_of(items, said.item, known.item_key)
        if len(at) != 1:
            return present, "NOT_PRESENT"
        item = merged(items[at[0]], said.value)
        value = [*items[: at[0]], item, *items[at[0] + 1 :]]
        fits = conforms(known.items, item) and is_small(value)
        return (value, None) if fits else (present, "BAD_VALUE")

    def _field_of(self, said: FieldValue) -> ProfileField:
        schema = self._schemas.get(said.schema_id)
        known = schema.field(said.field) if schema is not None else None
        return known or ProfileField(said.field, {})

    def _takes(self, said: FieldValue, value: JsonValue) -> bool:
        return conforms(self._field_of(said).json_schema, value)

    def changes(self, max_deletes: int) -> Iterator[FieldChange]:
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
        chosen = cell.holders if len(cell.holders) <= at_most else []
        for memory_id in chosen:
            memory = self._memories[memory_id]
            del memory.data[name]
            memory.changed.append((name, "taken back", cell.extracted))
        if not chosen:
            self.dropped += [said.dropped("TOO_MANY_DELETES") for said in cell.extracted]
        return len(chosen)

    def _set(self, name: str, cell: _Cell) -> None:
        # The value of the most recently changed memory counts.
        memory = self._memories[cell.holders[-1]]
        if not same(memory.data[name], cell.value):
            memory.data[name] = cell.value
            memory.changed.append((name, "changed", cell.extracted))
        elif any(map(cell.is_renewed, cell.extracted)):
            memory.changed.append((name, "said again", cell.extracted))


def _created(schema_id: str, name: str, cell: _Cell) -> FieldChange:
    extracted = tuple(cell.extracted)
    data = {name: cell.value}
    return FieldChange("CREATED", None, None, schema_id, name, cell.value, "new", extracted, data)
