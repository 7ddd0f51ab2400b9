"""Values of fields with a schema (JSON Schema 2020-12): coerced and validated."""

import json
import re
from collections.abc import Iterable

from pydantic import JsonValue

from app.kernel.text import clean, fold
from app.kernel.wire.json_schema import MAX_DEPTH, JsonObject

MAX_VALUE_BYTES = 4_096
MAX_VALUE_PARTS = 200
"""Keys and values of one value, at any depth."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,15}")
_DECIMAL = re.compile(r"[+-]?[0-9]{1,15}\.[0-9]{1,15}")
_SEPARATOR = re.compile(r"\s*[,;\n]\s*")


def types_of(schema: JsonObject) -> list[str]:
    """Return the types that a plain schema names, without null."""
    declared = schema.get("type")
    named = declared if isinstance(declared, list) else [declared]
    types = [name for name in named if isinstance(name, str) and name != "null"]
    return types or (["string"] if options_of(schema) else [])


def options_of(schema: JsonObject) -> list[str]:
    """Return the texts that a plain schema allows; empty: it allows any text."""
    values = schema.get("enum")
    return (
        [option for option in values if isinstance(option, str)] if isinstance(values, list) else []
    )


def coerced(schema: JsonValue, value: JsonValue) -> JsonValue:
    """Convert the value to the form of its plain schema if the conversion is lossless.

    Text converts to a number, a list or one of the options: "34" to 34, "Blue" to the option
    "blue", "a, b" to a list. The value is not validated.
    """
    plain: JsonObject = schema if isinstance(schema, dict) else {}
    match value:
        case str():
            return _from_text(plain, clean(value).strip())
        case float() if value.is_integer() and types_of(plain) == ["integer"]:
            return int(value)
        case list():
            return [coerced(plain.get("items"), item) for item in value]
        case dict():
            return _coerced_object(plain, value)
        case _:
            return value


def _coerced_object(schema: JsonObject, value: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    return {clean(name): coerced(known.get(name), item) for name, item in value.items()}


def _from_text(schema: JsonObject, text: str) -> JsonValue:
    options = options_of(schema)
    if options:
        near = [option for option in options if option.casefold() == text.casefold()]
        return text if text in options or len(near) != 1 else near[0]
    match types_of(schema):
        case ["array" | "object" as kind]:
            return _structure(schema, kind, text)
        case ["boolean"]:
            return {"true": True, "false": False}.get(text.casefold(), text)
        case ["integer" | "number" as kind]:
            return _number(kind, text)
        case _:
            return text


def _number(kind: str, text: str) -> JsonValue:
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if kind == "number" and _DECIMAL.fullmatch(text) else text


def _structure(schema: JsonObject, kind: str, text: str) -> JsonValue:
    try:
        read: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        read = text
    if isinstance(read, list | dict):
        return coerced(schema, read) if is_small(read) else None
    if kind == "object" or text.startswith(("[", "{")):
        return text
    items = [item for item in _SEPARATOR.split(text) if item]
    return [coerced(schema.get("items"), item) for item in items]


def conforms(schema: JsonObject, value: JsonValue) -> bool:
    """Return True if a value is small enough and valid under its plain schema."""
    # Imported late: few processes have values to validate.
    from app.kernel.wire.json_validator import is_valid  # noqa: PLC0415 - costly import

    return is_small(value) and is_valid(schema, value)


def is_small(value: JsonValue) -> bool:
    """Return True if a value is within the size limits of one field."""
    level: list[JsonValue] = [value]
    count = 0
    for _ in range(MAX_DEPTH):
        count += len(level)
        level = [below for item in level for below in _parts(item)]
        if count > MAX_VALUE_PARTS or not level:
            break
    return not level and count <= MAX_VALUE_PARTS and _size(value) <= MAX_VALUE_BYTES


def _parts(item: JsonValue) -> Iterable[JsonValue]:
    if isinstance(item, dict):
        return [*item.keys(), *item.values()]
    return item if isinstance(item, list) else []


def _size(value: JsonValue) -> float:
    """Return the size in bytes as JSON; infinity for a value without JSON form, such as NaN."""
    try:
        return len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    except ValueError:
        return float("inf")


def same(value: JsonValue, other: JsonValue) -> bool:
    """Return True if two values are equal as JSON, where 1 differs from true."""
    return json.dumps(value, sort_keys=True) == json.dumps(other, sort_keys=True)


def spelled(value: JsonValue) -> str:
    """Return the texts and numbers of a value as one text, without property names."""
    match value:
        case None:
            return ""
        case str():
            return value
        case list():
            return ", ".join(map(spelled, value))
        case dict():
            return ", ".join(map(spelled, value.values()))
        case _:
            return json.dumps(value)


def alike(value: JsonValue, other: JsonValue) -> bool:
    """Return True if two values differ at most in spelling."""
    if isinstance(value, str) and isinstance(other, str):
        return fold(value) == fold(other)
    return same(value, other)
