"""Profiles: which fields a scope has, and which values they take (pure).

Every field of a profile is one memory of type STRUCTURED_PROFILE, whose `structuredContent` has the
field alone; a new value changes that memory. A memory that was written by hand may have several
fields: they change within it.

Source: wire specification, sections 11 and 12.2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import JsonValue

from app.kernel.wire.json_schema import JsonObject, read_schema
from app.kernel.wire.json_values import coerced, conforms, is_small, options_of, types_of
from app.language import profiles as rules
from app.language.facts import Turn
from app.platform.engines.logic.config import (
    MemoryBankConfig,
    MemoryType,
    SchemaConfig,
    StructuredMemoryConfig,
)

_MAX_NAME_CHARS = 100
_MAX_DESCRIPTION_CHARS = 200
_MAX_OPTIONS_CHARS = 1_000
"""Of a name, a description and all options of a field in a prompt."""

Changed = Literal["CREATED", "UPDATED", "DELETED"]


@dataclass(frozen=True)
class Field:
    """A field of a profile.

    Attributes:
        json_schema: in the plain form of `app.kernel.wire.json_schema`.
        type: "string", "integer" and so on; empty where it may be one of several.
        options: the texts that the field is limited to; none where it is not.
    """

    name: str
    json_schema: JsonObject
    description: str = ""
    type: str = ""
    title: str = ""
    options: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Its name as a prompt has it."""
        return _flat(self.name, _MAX_NAME_CHARS)

    def wanted(self, schema_id: str) -> rules.Wanted:
        """Return it as the rules look at it."""
        form = str(self.json_schema.get("format", ""))
        return rules.Wanted(schema_id, self.name, self.title, self.type, form, self.options)


@dataclass(frozen=True)
class ProfileSchema:
    """The fields of one profile."""

    schema_id: str
    fields: tuple[Field, ...]

    def field(self, name: str) -> Field | None:
        """Return the field of that name, if there is one."""
        return next((one for one in self.fields if one.name == name), None)

    def labelled(self, label: str) -> Field | None:
        """Return the field that a prompt names so, if there is one."""
        named = (one for one in self.fields if one.label == label)
        return self.field(label) or next(named, None)


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
    options = _flat(", ".join(one.options), _MAX_OPTIONS_CHARS)
    kind = f"one of {options}" if options else one.type
    meaning = _flat(one.description or one.title, _MAX_DESCRIPTION_CHARS)
    parts = (f"{schema.schema_id}.{one.label}", kind and f" ({kind})", meaning and f": {meaning}")
    return "".join(parts)


def _flat(text: str, max_chars: int) -> str:
    """Return the text in one line, cut: whoever configures it must not write the prompt."""
    return " ".join(text[:max_chars].split())


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
    wanted = [one.wanted(schema.schema_id) for schema in schemas for one in schema.fields]
    for one in rules.fill(turns, wanted):
        given: JsonValue = [*one.value] if isinstance(one.value, tuple) else one.value
        value = validated(known[one.schema_id], one.field, given)
        if value is not None or (one.clear and one.value is None):
            found.append(
                FieldValue(one.schema_id, one.field, value, one.clear, one.source, one.turn)
            )
    return found


def stored_fields(memory_id: str, version: int, content: Mapping[str, Any]) -> list[StoredField]:
    """Return the fields that a memory's `structured_content` has."""
    return [
        StoredField(memory_id, version, str(content["schemaId"]), name, value)
        for name, value in content["data"].items()
    ]
