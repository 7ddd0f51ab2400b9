"""Profiles: the fields of a scope and the values that they accept.

Each field is one memory of type STRUCTURED_PROFILE, which a new value changes. A memory written by
hand may hold several fields. Source: wire specification, sections 11 and 12.2.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import JsonValue

from app.kernel.text import fold
from app.kernel.wire.json_schema import JsonObject, read_schema
from app.kernel.wire.json_values import coerced, conforms, is_small, options_of, spelled, types_of
from app.language import profiles as rules
from app.language.facts import Turn
from app.memory.generation.logic.outcomes import DroppedValue, FieldReason
from app.platform.engines.logic.config import (
    MemoryBankConfig,
    MemoryType,
    SchemaConfig,
    StructuredMemoryConfig,
)
from app.platform.engines.logic.topics import MAX_FACT_CHARS

MAX_NAME_CHARS = 100
"""Limit for a field's name in a prompt."""

Changed = Literal["CREATED", "UPDATED", "DELETED"]
Statement = Literal["set", "clear", "remove", "change"]


@dataclass(frozen=True)
class ProfileField:
    """A field of a profile.

    Attributes:
        json_schema: the schema in the plain form of `app.kernel.wire.json_schema`.
        type: "string", "integer" and so on; empty if several types are possible.
        options: the allowed texts; empty without a limit.
    """

    name: str
    json_schema: JsonObject
    description: str = ""
    type: str = ""
    title: str = ""
    options: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Name of the field in a prompt."""
        return flat(self.name, MAX_NAME_CHARS)

    @property
    def items(self) -> JsonObject:
        """The schema of the items, if the field is a list."""
        items = self.json_schema.get("items")
        return items if isinstance(items, dict) else {}

    @property
    def item_key(self) -> str | None:
        """The property that distinguishes the items of a list; None if only the whole item does."""
        properties, required = self.items.get("properties"), self.items.get("required")
        if isinstance(required, list) and required:
            return str(required[0])
        return "name" if isinstance(properties, dict) and "name" in properties else None

    def wanted(self, schema_id: str) -> rules.WantedField:
        """Return the field in the form that the rules use."""
        return rules.WantedField(schema_id, self.name, self.title, self.type, self.options)


@dataclass(frozen=True)
class ProfileSchema:
    """The fields of one profile."""

    schema_id: str
    fields: tuple[ProfileField, ...]

    def field(self, name: str) -> ProfileField | None:
        """Return the field of that name, or None."""
        return next((field for field in self.fields if field.name == name), None)

    def labelled(self, label: str) -> ProfileField | None:
        """Return the field that has this label in a prompt, or None."""
        named = (field for field in self.fields if field.label == label)
        return self.field(label) or next(named, None)


@dataclass(frozen=True)
class FieldValue:
    """A statement about a field in a conversation.

    Attributes:
        value: for `set` the value, or the items that a list has now too; for `remove` the value
            or items that no longer hold; for `change` the new parts of an item; None for `clear`.
        item: the item to `change`, by its key.
        source: the words of the input that the statement rests on.
        turn: position in the input of the turn with these words.
        is_repeat: True if the words were perhaps read before.
    """

    schema_id: str
    field: str
    value: JsonValue
    action: Statement = "set"
    item: str = ""
    source: str = ""
    turn: int = 0
    said_at: datetime | None = None
    is_repeat: bool = False

    @property
    def takes_back(self) -> bool:
        """True if the statement ends a value."""
        return self.action in {"clear", "remove"}

    def dropped(self, reason: FieldReason, memory_id: str | None = None) -> DroppedValue:
        """Return the record of this statement as understood, but without effect."""
        return DroppedValue(self.schema_id, self.field, self.source, reason, memory_id, self.turn)


@dataclass(frozen=True)
class StoredField:
    """A field in a live memory of the scope; `is_held` is True if a person set it by hand."""

    memory_id: str
    version: int
    schema_id: str
    field: str
    value: JsonValue
    rests_on: datetime | None = None
    is_held: bool = False


@dataclass(frozen=True)
class FieldChange:
    """One change to one memory.

    Attributes:
        version: the version of the memory when it was read, None for a new one.
        value: the new value; None if the field is removed.
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
        """Return the extracted values in the form of a revision; a value taken back is null."""
        return [
            with_context(
                {"structuredData": {value.field: None if value.takes_back else value.value}},
                value.source,
            )
            for value in self.extracted
        ]


def with_context(extracted: dict[str, Any], quote: str) -> dict[str, Any]:
    """Return an extracted memory in the form of a revision, with the words that it rests on."""
    return {**extracted, "context": quote[:MAX_FACT_CHARS]} if quote else extracted


def schemas_for(config: MemoryBankConfig, scope: Mapping[str, str]) -> tuple[ProfileSchema, ...]:
    """Return the profiles of a scope; of two schemas with the same id, the first counts."""
    # As in `customization_for`, only the configurations with the most keys count, but here all
    # of them, because a bank may spread its schemas over several.
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
    """Return the profile, or None for a schema without fields or one stored before checks."""
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


def flat(text: str, max_chars: int) -> str:
    """Return the text cut and in one line, to keep a configuration from injecting prompt text."""
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
    """Yield, for each statement, the valid values of fields that the built-in rules find."""
    known = {schema.schema_id: schema for schema in schemas}
    wanted = [field.wanted(schema.schema_id) for schema in schemas for field in schema.fields]
    for said in rules.filling(turns, wanted):
        yield [value for filled in said if (value := _valid(known, filled)) is not None]


def _valid(known: Mapping[str, ProfileSchema], filled: rules.Filled) -> FieldValue | None:
    stated: JsonValue = [*filled.value] if isinstance(filled.value, tuple) else filled.value
    value = validated(known[filled.schema_id], filled.field, stated)
    action: Statement = "set" if not filled.clear else "remove" if filled.value else "clear"
    if value is None and action != "clear":
        return None
    return FieldValue(
        filled.schema_id, filled.field, value, action, source=filled.source, turn=filled.turn
    )


def stored_fields(
    memory_id: str,
    version: int,
    content: Mapping[str, Any],
    rests_on: datetime | None = None,
    *,
    is_held: bool = False,
) -> list[StoredField]:
    """Return the fields in a memory's `structured_content`."""
    schema_id = str(content["schemaId"])
    return [
        StoredField(memory_id, version, schema_id, name, value, rests_on, is_held)
        for name, value in content["data"].items()
    ]


def name_of(item: JsonValue, key: str | None) -> str:
    """Return the name of an item: the value of its key, or the whole item."""
    if isinstance(item, dict) and key is not None and key in item:
        return spelled(item[key])
    return spelled(item)


def positions_of(items: Sequence[JsonValue], name: str, key: str | None) -> list[int]:
    """Return the positions of items by name; case and punctuation only count if they must."""
    names = [name_of(item, key) for item in items]
    exact = [at for at, other in enumerate(names) if other.casefold() == name.strip().casefold()]
    return exact or [at for at, other in enumerate(names) if fold(other) == fold(name)]


def merged(item: JsonValue, new: JsonValue) -> JsonValue:
    """Return an item with new parts; a value that is not an object is replaced."""
    return {**item, **new} if isinstance(item, dict) and isinstance(new, dict) else new


def joined(
    present: Sequence[JsonValue], new: Sequence[JsonValue], key: str | None
) -> tuple[list[JsonValue], list[JsonValue]]:
    """Return the present items, changed by the objects that name them, and the other new items."""
    changed, others = list(present), []
    for item in new:
        at = positions_of(changed, name_of(item, key), key) if isinstance(item, dict) else []
        if len(at) == 1 and isinstance(changed[at[0]], dict):
            changed[at[0]] = merged(changed[at[0]], item)
        else:
            others.append(item)
    return changed, others
