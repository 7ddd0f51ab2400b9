"""Profiles: the fields of a scope and the values that they accept (pure).

Every field of a profile is one memory of type STRUCTURED_PROFILE, whose `structuredContent` holds
that field alone; a new value changes that memory. A memory written by hand may hold several fields;
they change within it.

Source: wire specification, sections 11 and 12.2.
"""

from collections.abc import Iterator, Mapping, Sequence
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
from app.platform.engines.logic.topics import MAX_FACT_CHARS

_MAX_NAME_CHARS = 100
_MAX_DESCRIPTION_CHARS = 200
_MAX_OPTIONS_CHARS = 1_000
"""Limits in a prompt for a field's name, its description, and all its options."""

Changed = Literal["CREATED", "UPDATED", "DELETED"]


@dataclass(frozen=True)
class ProfileField:
    """A field of a profile.

    Attributes:
        json_schema: in the plain form of `app.kernel.wire.json_schema`.
        type: "string", "integer" and so on; empty if it may be one of several.
        options: the texts that the field is limited to; empty without a limit.
    """

    name: str
    json_schema: JsonObject
    description: str = ""
    type: str = ""
    title: str = ""
    options: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Name in a prompt."""
        return _flat(self.name, _MAX_NAME_CHARS)

    def wanted(self, schema_id: str) -> rules.WantedField:
        """Return the field in the form of the rules."""
        form = str(self.json_schema.get("format", ""))
        return rules.WantedField(schema_id, self.name, self.title, self.type, form, self.options)


@dataclass(frozen=True)
class ProfileSchema:
    """The fields of one profile."""

    schema_id: str
    fields: tuple[ProfileField, ...]

    def field(self, name: str) -> ProfileField | None:
        """Return the field of that name, or None."""
        return next((field for field in self.fields if field.name == name), None)

    def labelled(self, label: str) -> ProfileField | None:
        """Return the field that a prompt names by this label, or None."""
        named = (field for field in self.fields if field.label == label)
        return self.field(label) or next(named, None)


@dataclass(frozen=True)
class FieldValue:
    """A statement about a field in a conversation.

    Attributes:
        value: a valid one. With `clear`, the value that no longer holds, or None for the present
            value, whatever it is.
        clear: True if the value is taken back.
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
        value: the new value; None if the field is removed.
        reason: the reason, in a word or two.
        extracted: the values it rests on.
        data: the whole `structuredContent.data` of the memory after the change.
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
        """Return the value of the memory's column."""
        return {"schemaId": self.schema_id, "data": self.data}

    def extracted_memories(self) -> list[dict[str, Any]]:
        """Return the extraction in the form of the revision; a value taken back is null."""
        return [
            with_context(
                {"structuredData": {value.field: None if value.clear else value.value}},
                value.source,
            )
            for value in self.extracted
        ]


def with_context(extracted: dict[str, Any], quote: str) -> dict[str, Any]:
    """Return an extracted memory in the form of a revision, with the words that it rests on."""
    return {**extracted, "context": quote[:MAX_FACT_CHARS]} if quote else extracted


def schemas_for(config: MemoryBankConfig, scope: Mapping[str, str]) -> tuple[ProfileSchema, ...]:
    """Return the profiles of a scope.

    Only configurations count whose keys are all in the scope, and of these the ones with the most
    keys, as with `customization_for`. Here all of them count, since a bank may spread its schemas.
    If two schemas have the same id, the first counts.
    """
    fitting = [
        entry
        for entry in config.structured_memory_configs or []
        if set(entry.scope_keys or []) <= scope.keys()
    ]
    most = max((_specificity(entry) for entry in fitting), default=0)
    profiles: dict[str, ProfileSchema] = {}
    for entry in fitting:
        if _specificity(entry) == most:
            for schema in entry.schema_configs or []:
                profile = _profile(schema)
                if profile is not None:
                    profiles.setdefault(profile.schema_id, profile)
    return tuple(profiles.values())


def _specificity(config: StructuredMemoryConfig) -> int:
    return len(config.scope_keys or [])


def _profile(config: SchemaConfig) -> ProfileSchema | None:
    """Return the profile; None for a schema without fields, or one stored before checks."""
    if config.memory_type is MemoryType.NATURAL_LANGUAGE_COLLECTION:
        return None
    try:
        schema = read_schema(config.effective_schema())
    except ValueError:
        return None
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return None
    fields = (
        _field(name, property_schema)
        for name, property_schema in properties.items()
        if property_schema is not False
    )
    return ProfileSchema(config.id, tuple(fields))


def _field(name: str, schema: JsonValue) -> ProfileField:
    plain: JsonObject = schema if isinstance(schema, dict) else {}
    types = types_of(plain)
    return ProfileField(
        name,
        plain,
        description=str(plain.get("description", "")),
        type=types[0] if len(types) == 1 else "",
        title=str(plain.get("title", "")),
        options=tuple(options_of(plain)),
    )


def prompt_lines(schemas: Sequence[ProfileSchema]) -> tuple[str, ...]:
    """Return a line for each field that tells a model what belongs there."""
    return tuple(_line(schema, field) for schema in schemas for field in schema.fields)


def _line(schema: ProfileSchema, field: ProfileField) -> str:
    options = _flat(", ".join(field.options), _MAX_OPTIONS_CHARS)
    kind = f"one of {options}" if options else field.type
    meaning = _flat(field.description or field.title, _MAX_DESCRIPTION_CHARS)
    parts = (f"{schema.schema_id}.{field.label}", kind and f" ({kind})", meaning and f": {meaning}")
    return "".join(parts)


def _flat(text: str, max_chars: int) -> str:
    """Return the text in one line, cut, so that a configuration cannot write the prompt."""
    return " ".join(text[:max_chars].split())


def validated(schema: ProfileSchema, field: str, value: JsonValue) -> JsonValue:
    """Return the value in the form that the field accepts, or None."""
    target = schema.field(field)
    if target is None or not is_small(value):
        return None
    read = coerced(target.json_schema, value)
    if read is None or read in ("", [], {}):
        return None
    return read if conforms(target.json_schema, read) else None


def by_rules(turns: Sequence[Turn], schemas: Sequence[ProfileSchema]) -> Iterator[list[FieldValue]]:
    """Yield the valid values that the built-in rules find for the fields, by statement."""
    known = {schema.schema_id: schema for schema in schemas}
    wanted = [field.wanted(schema.schema_id) for schema in schemas for field in schema.fields]
    for said in rules.filling(turns, wanted):
        yield [value for filled in said if (value := _valid(known, filled)) is not None]


def _valid(known: Mapping[str, ProfileSchema], filled: rules.Filled) -> FieldValue | None:
    given: JsonValue = [*filled.value] if isinstance(filled.value, tuple) else filled.value
    value = validated(known[filled.schema_id], filled.field, given)
    if value is None and not (filled.clear and filled.value is None):
        return None
    return FieldValue(
        filled.schema_id, filled.field, value, filled.clear, filled.source, filled.turn
    )


def stored_fields(memory_id: str, version: int, content: Mapping[str, Any]) -> list[StoredField]:
    """Return the fields that a memory's `structured_content` has."""
    return [
        StoredField(memory_id, version, str(content["schemaId"]), name, value)
        for name, value in content["data"].items()
    ]
