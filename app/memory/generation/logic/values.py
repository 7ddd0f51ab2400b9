"""Fields of profiles in the prompt and in the reply of a model.

Each line of the prompt stays within its limits. This keeps configurations and stored values from
injecting text into the prompt. The checks of a reply cover the quote, numbers and dates, and the
schema of the field. The interpretation of the words is left to the model.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import JsonValue

from app.kernel.wire.json_schema import JsonObject
from app.kernel.wire.json_values import coerced, conforms, is_small, spelled, types_of
from app.memory.generation.logic.outcomes import DroppedValue, FieldReason
from app.memory.generation.logic.profiles import (
    MAX_NAME_CHARS,
    FieldValue,
    ProfileField,
    ProfileSchema,
    Statement,
    StoredField,
    flat,
    name_of,
    positions_of,
    validated,
)
from app.memory.generation.logic.replies import ExtractedField
from app.memory.generation.logic.sources import Sources
from app.memory.generation.logic.specifics import Origin, foreign

_TIME_OF_DAY = re.compile(r"(?<=\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?\b")
"""The time of a moment in the form of a schema; people state its hour and minute only."""

_MAX_DESCRIPTION_CHARS = 200
_MAX_OPTIONS_CHARS = 1_000
_MAX_FORM_CHARS = 300
_MAX_VALUE_CHARS = 200
"""Limits for a description, all options, the form of other values, and a present value."""
_MAX_PARTS = 8
"""Maximum number of properties of an object in a line."""
_BOUNDS: Mapping[str, str] = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "above {}",
    "exclusiveMaximum": "below {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {}",
    "maxItems": "at most {}",
}


@dataclass(frozen=True)
class ShownFields:
    """The present fields of a scope's profiles, both in full and masked for a model."""

    stored: Sequence[StoredField] = ()
    shown: Sequence[StoredField] = ()

    @cached_property
    def values(self) -> Mapping[tuple[str, str], tuple[JsonValue, JsonValue]]:
        """Full and masked value of each field, by schema and name; the latest change counts."""
        return {
            (was.schema_id, was.field): (was.value, seen.value)
            for was, seen in zip(self.stored, self.shown, strict=True)
        }


@dataclass
class Grounded:
    """The statements that may be carried out, and the dropped ones."""

    values: list[FieldValue] = field(default_factory=list)
    dropped: list[DroppedValue] = field(default_factory=list)


def grounded_values(
    fields: Iterable[ExtractedField],
    sources: Sources,
    schemas: Sequence[ProfileSchema],
    present: ShownFields,
) -> Grounded:
    """Return the statements that rest on users' words and fit their fields."""
    known = {schema.schema_id: schema for schema in schemas}
    outcome = Grounded()
    for extracted in fields:
        schema = known.get(extracted.profile)
        # The prompt shows a field as "profile.field"; a model may return the whole name.
        label = extracted.field.removeprefix(f"{extracted.profile}.")
        wanted = schema.labelled(label) if schema is not None else None
        if schema is None or wanted is None:
            outcome.dropped.append(_dropped(extracted, "UNKNOWN_FIELD"))
            continue
        values = present.values.get((schema.schema_id, wanted.name), (None, None))
        result = _Statement(extracted, sources, schema, wanted, *values).read()
        if isinstance(result, FieldValue):
            outcome.values.append(result)
        else:
            outcome.dropped.append(
                DroppedValue(schema.schema_id, wanted.name, extracted.quote, result)
            )
    return outcome


def _dropped(extracted: ExtractedField, reason: FieldReason) -> DroppedValue:
    schema_id, name = flat(extracted.profile, MAX_NAME_CHARS), flat(extracted.field, MAX_NAME_CHARS)
    return DroppedValue(schema_id, name, extracted.quote, reason)


@dataclass(frozen=True)
class _Statement:
    """A model's statement about a known field; `shown` is its value `present` in masked form."""

    said: ExtractedField
    sources: Sources
    schema: ProfileSchema
    wanted: ProfileField
    present: JsonValue
    shown: JsonValue

    def read(self) -> FieldValue | FieldReason:
        repeated = self.sources.find(self.said.quote, self.said.line)
        # No second call confirms fields, so a near quote is not enough.
        if repeated is None or not repeated.is_sure:
            return "NO_QUOTE"
        turn = repeated.turn
        if turn in self.sources.context:
            return "ALREADY_READ"
        is_list = self.wanted.type == "array" or isinstance(self.present, list)
        result = self._of_list(turn) if is_list else self._of_one(turn)
        if not isinstance(result, FieldValue) or result.takes_back:
            return result
        return self._unsaid(result.value, turn) or result

    def _of_one(self, turn: int) -> FieldValue | FieldReason:
        if self.said.action in {"clear", "remove"}:
            return self._value(None, turn, "clear")
        value = validated(self.schema, self.wanted.name, self.said.value)
        return "BAD_VALUE" if value is None else self._value(value, turn)

    def _of_list(self, turn: int) -> FieldValue | FieldReason:
        named = self.said.item or self.said.value
        match self.said.action:
            case "clear" if not named.strip():
                return self._value(None, turn, "clear")
            case "clear" | "remove":
                return self._value(list(self._names(named)), turn, "remove")
            case "change":
                new = self._item(self.said.value)
                if new is None:
                    return "BAD_VALUE"
                (item,) = self._names(named)[:1] or [named]
                return self._value(new, turn, "change", item)
            case _:
                items = self._items()
                return self._value(items, turn) if items else "BAD_VALUE"

    def _value(
        self, value: JsonValue, turn: int, action: Statement = "set", item: str = ""
    ) -> FieldValue:
        return FieldValue(
            self.schema.schema_id, self.wanted.name, value, action, item, self.said.quote, turn
        )

    def _item(self, text: str) -> JsonValue:
        item = coerced(self.wanted.items, text)
        return item if item not in ("", [], {}) and is_small(item) else None

    def _items(self) -> list[JsonValue]:
        read, text = self._list(self.said.value), self.said.value
        is_several = self.said.action == "set" or text.lstrip().startswith("[")
        items = read if isinstance(read, list) and is_several else [self._item(text)]
        fits = all(item is not None and conforms(self.wanted.items, item) for item in items)
        return items if fits else []

    def _list(self, text: str) -> JsonValue:
        return coerced({**self.wanted.json_schema, "type": "array"}, text)

    def _names(self, text: str) -> list[str]:
        """Return the full names of stored items for the masked names that a model returns."""
        key = self.wanted.item_key
        shown = self.shown if isinstance(self.shown, list) else []
        stored = self.present if isinstance(self.present, list) else []
        read = self._list(text)
        several = read if isinstance(read, list) else [read]
        is_one = positions_of(shown, text, key)
        full: list[str] = []
        for name in [text] if is_one else [name_of(item, key) for item in several]:
            full += [name_of(stored[at], key) for at in positions_of(shown, name, key)] or [name]
        return full

    def _unsaid(self, value: JsonValue, turn: int) -> FieldReason | None:
        if turn in self.sources.files:
            return None
        text = _TIME_OF_DAY.sub(r" \1", spelled(value))
        anywhere, day = self.sources.origin(turn), self.sources.day(turn)
        present = Origin(((spelled(self.shown), day),), day)
        # A number may be derived only from words near the quote.
        near = (self.sources.said.get(turn, ""), self.sources.question(turn))
        own = Origin(tuple((words, day) for words in near), day)
        details = {unsourced.detail for unsourced in foreign(text, anywhere)}
        details &= {unsourced.detail for unsourced in foreign(text, present)}
        for unsourced in foreign(text, own):
            if unsourced.detail in details and not unsourced.may_follow:
                is_date = unsourced.reason == "FOREIGN_DATE"
                return "FOREIGN_DATE" if is_date else "FOREIGN_NUMBER"
        return None


def field_lines(
    schemas: Sequence[ProfileSchema], present: Sequence[StoredField] = ()
) -> tuple[str, ...]:
    """Return a line for each field: its description, and the last of its values if it has one."""
    values = {(known.schema_id, known.field): _shown(known.value) for known in present}
    return tuple(
        f"{_line(schema, field)}{values.get((schema.schema_id, field.name), '')}"
        for schema in schemas
        for field in schema.fields
    )


def _line(schema: ProfileSchema, field: ProfileField) -> str:
    kind = _kind(field)
    meaning = flat(field.description or field.title, _MAX_DESCRIPTION_CHARS)
    parts = (f"{schema.schema_id}.{field.label}", kind and f" ({kind})", meaning and f": {meaning}")
    return "".join(parts)


def _kind(field: ProfileField) -> str:
    if field.options:
        return f"one of {flat(', '.join(field.options), _MAX_OPTIONS_CHARS)}"
    form = flat(", ".join(_forms(field.json_schema)), _MAX_FORM_CHARS)
    if field.type != "array" or field.item_key is None:
        return form
    return f"{form}, by {flat(field.item_key, MAX_NAME_CHARS)}"


def _forms(schema: JsonObject) -> Iterator[str]:
    if kind := _type(schema):
        yield kind
    yield from (str(schema[name]) for name in ("format", "pattern") if name in schema)
    yield from (words.format(schema[name]) for name, words in _BOUNDS.items() if name in schema)


def _type(schema: JsonObject) -> str:
    types, options = types_of(schema), schema.get("enum")
    if isinstance(options, list):
        return f"one of {', '.join(map(_plain, options))}"
    if types == ["array"]:
        return f"list of {_part(schema.get('items'))}".removesuffix(" of ")
    if types == ["object"] and schema.get("properties"):
        return _object(schema)
    return " or ".join(types)


def _part(schema: JsonValue) -> str:
    return " ".join(_forms(schema)) if isinstance(schema, dict) else ""


def _object(schema: JsonObject) -> str:
    properties = schema.get("properties")
    known = list(properties.items()) if isinstance(properties, dict) else []
    return f"{{{', '.join(f'{name}: {_part(part)}' for name, part in known[:_MAX_PARTS])}}}"


def _plain(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _shown(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    rest = "\u2026" if len(text) > _MAX_VALUE_CHARS else ""
    return f" = {flat(text, _MAX_VALUE_CHARS)}{rest}"
