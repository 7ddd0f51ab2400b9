"""Caller-supplied schemas, normalised into one plain form.

Callers write JSON Schema or the dialect of the API ("OBJECT", `any_of`, `nullable`, 64-bit numbers
as strings). The plain form has one spelling, no references and only known keywords. Its size is
bounded, and its patterns match in linear time, so validation is cheap and fetches nothing.

Source: JSON Schema 2020-12; google.cloud.aiplatform.v1beta1.Schema.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]  # google-re2 ships no types
from pydantic import JsonValue
from pydantic.alias_generators import to_camel

JsonObject = dict[str, JsonValue]

MAX_SCHEMAS = 500
"""Subschemas of one schema; each use of a reference counts its target again."""
MAX_DEPTH = 32
# Bytes that RE2 may use for one pattern; only nested repetitions reach this.
_RE2_MEMORY_BYTES = 1 << 20

TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
_UNSPECIFIED = "type_unspecified"
_DEFINITIONS = ("$defs", "defs", "definitions")
_ONE = frozenset(
    {"items", "additionalProperties", "contains", "not", "propertyNames", "if", "then", "else"}
)
_SEVERAL = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_REFUSED = ("patternProperties", "$dynamicRef", "$recursiveRef")
_ANNOTATIONS = frozenset({"title", "description"})
_INDEX = re2.compile("0|[1-9][0-9]{0,8}")
"""A list index in a JSON pointer."""


def _is_natural(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str)


def _is_names(value: JsonValue) -> bool:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        return False
    return len({str(name) for name in value}) == len(value)


_NATURAL = (
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
)
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_PLAIN: Mapping[str, Callable[[JsonValue], bool]] = {
    **dict.fromkeys(_NATURAL, _is_natural),
    **dict.fromkeys(_NUMBERS, _is_number),
    **dict.fromkeys(("title", "description", "format", "pattern"), _is_text),
    "multipleOf": lambda value: _is_number(value) and isinstance(value, int | float) and value > 0,
    "uniqueItems": lambda value: isinstance(value, bool),
    "required": _is_names,
    "enum": lambda value: isinstance(value, list),
    "const": lambda _: True,
}
"""The keywords without subschemas, and the checks of their values."""


def read_schema(schema: Mapping[str, Any]) -> JsonObject:
    """Return the schema in its plain form.

    Raises:
        ValueError: the schema is invalid, too large, or refers to itself or outside itself.
    """
    plain = _SchemaReader(schema).read(dict(schema), 0)
    return plain if isinstance(plain, dict) else {}


class _SchemaReader:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = MAX_SCHEMAS

    def read(self, schema: JsonValue, depth: int) -> JsonValue:
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise ValueError("a schema must have objects where schemas belong")  # noqa: TRY004 - pydantic reads ValueError
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise ValueError(
                f"a schema must hold at most {MAX_SCHEMAS} schemas, {MAX_DEPTH} deep, with what its"
                " references stand for, and none may refer to itself"
            )
        spelled = {_keyword(key): value for key, value in schema.items()}
        own = self._own(spelled, depth)
        reference = spelled.get("$ref", spelled.get("ref"))
        if reference is not None:
            own = _joined(own, self.read(self._target(reference), depth + 1))
        own = _unwrapped(own)
        return _with_null(own) if spelled.get("nullable") is True else own

    def _own(self, spelled: Mapping[str, JsonValue], depth: int) -> JsonObject:
        own: JsonObject = {}
        for key, value in spelled.items():
            if key in _REFUSED:
                raise ValueError(f"a schema must not have {key}")
            if key in _PLAIN:
                own[key] = _checked(key, value)
            elif key in _ONE:
                own[key] = self.read(value, depth + 1)
            elif key in _SEVERAL:
                own[key] = [self.read(schema, depth + 1) for schema in _filled_list(key, value)]
            elif key == "properties":
                own[key] = {name: self.read(schema, depth + 1) for name, schema in _object(value)}
        if (types := _types(spelled.get("type"))) is not None:
            own["type"] = types
        return own

    def _target(self, reference: JsonValue) -> JsonValue:
        if not isinstance(reference, str) or not reference.startswith("#/"):
            raise ValueError('a $ref must lead to a part of the same schema, as "#/$defs/x" does')
        target: Any = self._root
        for part in reference.removeprefix("#/").split("/"):
            target = _step(target, part.replace("~1", "/").replace("~0", "~"))
        if target is None:
            raise ValueError("a $ref must lead to a part of the schema that is there")
        return target  # type: ignore[no-any-return]  # part of the root, which is JSON


def _keyword(key: str) -> str:
    return to_camel(key) if "_" in key else key


def _checked(key: str, value: JsonValue) -> JsonValue:
    if key in _NATURAL and isinstance(value, str) and value.isdecimal():
        value = int(value[:19])
    if not _PLAIN[key](value):
        raise ValueError(f"a schema has a value of {key} that JSON Schema does not allow")
    if key == "pattern":
        compiled(str(value))
    return value


def _filled_list(key: str, value: JsonValue) -> list[JsonValue]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"a schema must have a list of schemas as {key}")
    return value


def _object(value: JsonValue) -> Iterable[tuple[str, JsonValue]]:
    if not isinstance(value, dict):
        raise ValueError("a schema must have an object as properties")  # noqa: TRY004 - as above
    return value.items()


def _types(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return list(dict.fromkeys(name for name in map(_type, value) if name)) or None
    return _type(value) or None


def _type(value: JsonValue) -> str:
    name = str(value).lower()
    if value is None or name == _UNSPECIFIED:
        return ""
    if not isinstance(value, str) or name not in TYPES:
        raise ValueError("a schema has a type that JSON Schema does not know")
    return name


def _step(node: Any, part: str) -> Any:  # noqa: ANN401 - JSON
    if isinstance(node, list):
        at = int(part) if _INDEX.fullmatch(part) else len(node)
        return node[at] if at < len(node) else None
    if not isinstance(node, dict):
        return None
    # The API's dialect has other names for the definitions.
    names = _DEFINITIONS if part in _DEFINITIONS else (part,)
    return next((node[name] for name in names if name in node), None)


def _joined(own: JsonObject, other: JsonValue) -> JsonObject:
    # Mere annotations are merged, to keep the types of `other` visible.
    if isinstance(other, dict) and own.keys() <= _ANNOTATIONS:
        return {**other, **own}
    all_of: list[JsonValue] = [other]
    if isinstance(present := own.get("allOf"), list):
        all_of = [*present, other]
    return {**own, "allOf": all_of}


def _unwrapped(own: JsonObject) -> JsonObject:
    """Remove `anyOf` and similar keywords around a single schema and null, as generators write."""
    for key in ("anyOf", "oneOf", "allOf"):
        branches = own.get(key)
        if not isinstance(branches, list):
            continue
        real = [branch for branch in branches if branch != {"type": "null"}]
        if len(real) == 1 and not (key == "allOf" and len(branches) > 1):
            rest = _joined({name: own[name] for name in own if name != key}, real[0])
            own = _with_null(rest) if len(branches) > 1 else rest
    return own


def _with_null(own: JsonObject) -> JsonObject:
    types = own.get("type")
    if types is None or own.keys() & (_SEVERAL | {"const", "not"}):
        return {"anyOf": [own, {"type": "null"}]}
    present: list[JsonValue] = types if isinstance(types, list) else [types]
    widened: JsonObject = {**own, "type": present if "null" in present else [*present, "null"]}
    if isinstance(values := own.get("enum"), list):
        widened["enum"] = [*values, None]
    return widened


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Any:  # noqa: ANN401 - RE2 has no types
    """Compile a pattern with RE2, which matches in linear time."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _RE2_MEMORY_BYTES
    try:
        return re2.compile(pattern, options)
    except re2.error:
        raise ValueError("a schema has a pattern that is not of RE2 syntax") from None
