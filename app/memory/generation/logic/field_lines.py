"""Prompt lines for the fields of profiles and their present values (pure).

Each entry stays within one line and its limits. This keeps configurations and stored values from
injecting text into the prompt.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from app.kernel.wire.json_schema import JsonObject
from app.kernel.wire.json_values import types_of
from app.memory.generation.logic.profiles import (
    MAX_NAME_CHARS,
    ProfileField,
    ProfileSchema,
    StoredField,
    flat,
)

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


def field_lines(
    schemas: Sequence[ProfileSchema], present: Sequence[StoredField] = ()
) -> tuple[str, ...]:
    """Return a line for each field: its description, and its value if it has one.

    If a field has several values, the last one counts.
    """
    values = {(one.schema_id, one.field): _shown(one.value) for one in present}
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
    """Yield the type of a value, its options, its format and its bounds."""
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
