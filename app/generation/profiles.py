"""Profiles: which fields a scope has, which values they take, and what becomes of each (pure).

Every field of a profile is one memory of type STRUCTURED_PROFILE, whose `structuredContent` has the
field alone; a new value changes that memory. A memory that was written by hand may have several
fields: they change within it.

Source: wire specification, sections 11 and 12.2.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import JsonValue

from app.engines.config import MemoryBankConfig, MemoryType, SchemaConfig, StructuredMemoryConfig
from app.rules import profiles as rules
from app.rules.facts import Turn
from app.wire.json_schema import JsonObject, read_schema
from app.wire.json_values import (
    alike,
    coerced,
    conforms,
    is_small,
    options_of,
    same,
    types_of,
    without,
)

_MAX_DESCRIPTION_CHARS = 200
"""Of a description in a prompt."""

Changed = Literal["CREATED", "UPDATED", "DELETED"]


@dataclass(frozen=True)
class Field:
    """A field of a profile.

    Attributes:
        json_schema: in the plain form of `app.wire.json_schema`.
        type: "string", "integer" and so on; empty where it may be one of several.
        options: the texts that the field is limited to; none where it is not.
    """

    name: str
    json_schema: JsonObject
    description: str = ""
    type: str = ""
    title: str = ""
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProfileSchema:
    """The fields of one profile."""

    schema_id: str
    fields: tuple[Field, ...]

    def field(self, name: str) -> Field | None:
        """Return the field of that name, if there is one."""
        return next((one for one in self.fields if one.name == name), None)


@dataclass(frozen=True)
class FieldValue:
    """What a conversation says about a field.

    Attributes:
        value: a valid one. With `clear`, the value that no longer holds, or none for whatever the
            field has.
        clear: whether the value is taken back.
        source: the words of the input it rests on.
        turn: position in the input of the turn it came from.
    """

    schema_id: str
    field: str
    value: JsonValue
    clear: bool = False
    source: str = ""
    turn: int = 0


@dataclass(frozen=True)
class StoredField:
    """A field that a live memory of the scope has."""

    memory_id: str
    version: int
    schema_id: str
    field: str
    value: JsonValue


@dataclass(frozen=True)
class FieldChange:
    """One change to one memory.

    Attributes:
        memory_id: the memory, None for a new one.
        version: the version the memory had when it was read, None for a new one.
        value: the new value; none where the field is taken away.
        reason: why, in a word or two.
        extracted: what it rests on.
        data: all that the memory's `structuredContent.data` has afterwards.
    """

    action: Changed
    memory_id: str | None
    version: int | None
    schema_id: str
    field: str
    value: JsonValue
    reason: str
    extracted: tuple[FieldValue, ...]
    data: JsonObject

    def structured_content(self) -> dict[str, Any]:
        """Return the column of the memory."""
        return {"schemaId": self.schema_id, "data": self.data}

    def extracted_memories(self) -> list[dict[str, Any]]:
        """Return what its revision keeps of the extraction; what was taken back is null."""
        return [
            {"structuredData": {one.field: None if one.clear else one.value}}
            for one in self.extracted
        ]


def schemas_for(config: MemoryBankConfig, scope: Mapping[str, str]) -> tuple[ProfileSchema, ...]:
    """Return the profiles of a scope.

    As with `customization_for`, of the configurations whose keys the scope all has those with the
    most keys count; here all of them, since a bank may spread its schemas. Of two schemas with one
    id the first counts.
    """
    fitting = [
        one
        for one in config.structured_memory_configs or []
        if set(one.scope_keys or []) <= scope.keys()
    ]
    most = max((_specificity(one) for one in fitting), default=0)
    found: dict[str, ProfileSchema] = {}
    for one in fitting:
        if _specificity(one) == most:
            for schema in one.schema_configs or []:
                profile = _profile(schema)
                if profile is not None:
                    found.setdefault(profile.schema_id, profile)
    return tuple(found.values())


def _specificity(config: StructuredMemoryConfig) -> int:
    return len(config.scope_keys or [])


def _profile(config: SchemaConfig) -> ProfileSchema | None:
    """Return the profile; none of a schema without fields, or of one stored before checks."""
    if config.memory_type is MemoryType.NATURAL_LANGUAGE_COLLECTION:
        return None
    try:
        schema = read_schema(config.effective_schema())
    except ValueError:
        return None
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return None
    fields = (_field(name, one) for name, one in properties.items() if one is not False)
    return ProfileSchema(config.id, tuple(fields))


def _field(name: str, schema: JsonValue) -> Field:
    plain: JsonObject = schema if isinstance(schema, dict) else {}
    types = types_of(plain)
    return Field(
        name,
        plain,
        description=str(plain.get("description", "")),
        type=types[0] if len(types) == 1 else "",
        title=str(plain.get("title", "")),
        options=tuple(options_of(plain)),
    )


def prompt_lines(schemas: Sequence[ProfileSchema]) -> tuple[str, ...]:
    """Return a line for each field that tells a model what belongs there."""
    return tuple(_line(schema, one) for schema in schemas for one in schema.fields)


def _line(schema: ProfileSchema, one: Field) -> str:
    kind = f"one of {', '.join(one.options)}" if one.options else one.type
    meaning = " ".join((one.description or one.title)[:_MAX_DESCRIPTION_CHARS].split())
    parts = (f"{schema.schema_id}.{one.name}", kind and f" ({kind})", meaning and f": {meaning}")
    return "".join(parts)


def validated(schema: ProfileSchema, field: str, value: JsonValue) -> JsonValue:
    """Return the value as the field takes it, or None when it does not."""
    found = schema.field(field)
    if found is None or not is_small(value):
        return None
    read = coerced(found.json_schema, value)
    if read is None or read in ("", [], {}):
        return None
    return read if conforms(found.json_schema, read) else None


def by_rules(turns: Sequence[Turn], schemas: Sequence[ProfileSchema]) -> list[FieldValue]:
    """Return what the built-in rules find about the fields, as far as it is valid."""
    known = {one.schema_id: one for one in schemas}
    found = []
    wanted = [_wanted(schema.schema_id, one) for schema in schemas for one in schema.fields]
    for one in rules.fill(turns, wanted):
        given: JsonValue = [*one.value] if isinstance(one.value, tuple) else one.value
        value = validated(known[one.schema_id], one.field, given)
        if value is not None or (one.clear and one.value is None):
            found.append(
                FieldValue(one.schema_id, one.field, value, one.clear, one.source, one.turn)
            )
    return found


def _wanted(schema_id: str, one: Field) -> rules.Wanted:
    form = str(one.json_schema.get("format", ""))
    return rules.Wanted(schema_id, one.name, one.title, one.type, form, one.options)


def stored_fields(memory_id: str, version: int, content: Mapping[str, Any]) -> list[StoredField]:
    """Return the fields that a memory's `structured_content` has."""
    return [
        StoredField(memory_id, version, str(content["schemaId"]), name, value)
        for name, value in content["data"].items()
    ]


def plan_fields(
    values: Sequence[FieldValue],
    stored: Sequence[StoredField],
    *,
    max_deletes: int,
    schemas: Sequence[ProfileSchema] = (),
) -> tuple[FieldChange, ...]:
    """Turn values into changes: one for each memory at most, none where nothing is new.

    Of a field's values the one said last counts, except that lists grow: a list is taken to be all
    that was said at one time, not all there is. Items leave a list when they are taken back.

    Args:
        values: as they were said; those of one turn in their order.
        stored: all fields of the scope's profiles, those changed last at the end.
        max_deletes: how many fields may be cleared.
        schemas: bound how far lists grow; the oldest items go first.
    """
    plan = _Plan(stored, schemas)
    for one in sorted(values, key=lambda value: value.turn):
        plan.take(one)
    return tuple(plan.changes(max_deletes))


@dataclass
class _Cell:
    """A field while it is planned; `holders` are the memories that have it, oldest first."""

    value: JsonValue = None
    holders: list[str] = field(default_factory=list)
    extracted: list[FieldValue] = field(default_factory=list)


@dataclass
class _Memory:
    """A stored memory while it is planned: what it will have, and what changed in it."""

    version: int
    schema_id: str
    data: JsonObject = field(default_factory=dict)
    changed: list[tuple[str, str, list[FieldValue]]] = field(default_factory=list)

    def change(self, memory_id: str) -> FieldChange:
        """Return all that changed in it as one change."""
        name, reason, _ = self.changed[-1]
        return FieldChange(
            "UPDATED" if self.data else "DELETED",
            memory_id,
            self.version,
            self.schema_id,
            name,
            self.data.get(name),
            reason,
            tuple(one for _, _, extracted in self.changed for one in extracted),
            dict(self.data),
        )


class _Plan:
    """The fields of a scope while they are planned."""

    def __init__(self, stored: Sequence[StoredField], schemas: Sequence[ProfileSchema]) -> None:
        self._schemas = {one.schema_id: one for one in schemas}
        self._cells: dict[tuple[str, str], _Cell] = {}
        self._memories: dict[str, _Memory] = {}
        for one in stored:
            memory = self._memories.setdefault(one.memory_id, _Memory(one.version, one.schema_id))
            memory.data[one.field] = one.value
            cell = self._cells.setdefault((one.schema_id, one.field), _Cell())
            cell.value = one.value
            cell.holders.append(one.memory_id)

    def take(self, said: FieldValue) -> None:
        """Let a field have what was said about it; nothing is cleared unless the words say so."""
        cell = self._cells.setdefault((said.schema_id, said.field), _Cell())
        if said.clear:
            left = without(cell.value, said.value)
            if same(left, cell.value) or not self._is_taken_back(said, cell.value):
                return
            cell.value = left
        else:
            cell.value = self._joined(said, cell.value)
        cell.extracted.append(said)

    def _joined(self, said: FieldValue, present: JsonValue) -> JsonValue:
        """Return the new value; of lists both, as far as the field has room for the older items."""
        new = said.value
        if not isinstance(new, list) or not isinstance(present, list):
            return new
        older = [one for one in present if not any(alike(one, other) for other in new)]
        if len(older) + len(new) == len(present):
            older, new = present, []  # nothing is new: the order stays, too
        dropped = 0
        while dropped < len(older):
            joined = [*older[dropped:], *new]
            if self._takes(said, joined):
                return joined
            dropped = dropped * 2 or 1
        return said.value

    def _is_taken_back(self, said: FieldValue, present: JsonValue) -> bool:
        """Tell whether the words of the user do that, not only whoever read them."""
        known = self._known(said) or Field(said.field, {})
        text = json.dumps(present, ensure_ascii=False)
        return rules.takes_back(said.source, _wanted(said.schema_id, known), text)

    def _known(self, said: FieldValue) -> Field | None:
        schema = self._schemas.get(said.schema_id)
        return schema.field(said.field) if schema is not None else None

    def _takes(self, said: FieldValue, value: JsonValue) -> bool:
        known = self._known(said)
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
        """Take the field out of the memories that have it; return of how many."""
        chosen = cell.holders if len(cell.holders) <= at_most else []
        for memory_id in chosen:
            memory = self._memories[memory_id]
            del memory.data[name]
            memory.changed.append((name, "asked to forget", cell.extracted))
        return len(chosen)

    def _set(self, name: str, cell: _Cell) -> None:
        """Give the field its value in the memory that counts, the one changed last."""
        memory = self._memories[cell.holders[-1]]
        if not same(memory.data[name], cell.value):
            memory.data[name] = cell.value
            memory.changed.append((name, "changed", cell.extracted))


def _created(schema_id: str, name: str, cell: _Cell) -> FieldChange:
    extracted = tuple(cell.extracted)
    data = {name: cell.value}
    return FieldChange("CREATED", None, None, schema_id, name, cell.value, "new", extracted, data)
