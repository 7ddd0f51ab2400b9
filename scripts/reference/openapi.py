"""The OpenAPI document, as the reference pages read it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from scripts.reference.markdown import anchor, code, codes

_FILE = Path(__file__).parents[2] / "openapi" / "openapi.json"
BANK = "/v1beta1/projects/{project}/locations/{location}/reasoningEngines/{engine}"
Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Method:
    """A method of the API."""

    verb: str
    path: str
    operation: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The operation id."""
        return str(self.operation["operationId"])

    @property
    def short_path(self) -> str:
        """The path, with `{bank}` for the name of an engine."""
        return self.path.replace(BANK, "{bank}")

    @property
    def tag(self) -> str:
        """The group of methods that it belongs to."""
        return str(self.operation["tags"][0])


@cache
def document() -> Mapping[str, Any]:
    """Return the OpenAPI document."""
    read: Mapping[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return read


def methods() -> list[Method]:
    """Return every method of the API."""
    return [
        Method(verb.upper(), path, operation)
        for path, operations in document()["paths"].items()
        for verb, operation in operations.items()
    ]


def tags() -> Mapping[str, str]:
    """Return the groups of methods in the order of use, with their descriptions."""
    return {tag["name"]: tag["description"] for tag in document()["tags"]}


def schemas() -> Mapping[str, Schema]:
    """Return every named schema."""
    found: Mapping[str, Schema] = document()["components"]["schemas"]
    return found


def named(schema: Schema) -> str | None:
    """Return the name of the schema that one refers to, if it does."""
    reference = schema.get("$ref")
    return str(reference).rpartition("/")[2] if reference else None


def body(content: Schema) -> tuple[str, Schema] | None:
    """Return the media type and the schema of a request or an answer."""
    for media_type, described in content.get("content", {}).items():
        return media_type, described.get("schema", {})
    return None


def kind(schema: Schema) -> str:
    """Return the type of a schema in words, with links to named ones."""
    if name := named(schema):
        return f"[{name}](types.md#{anchor(name)})"
    if options := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        kinds = [kind(option) for option in options if option.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in schema:
        return codes(schema["enum"])
    if "const" in schema:
        return code(schema["const"])
    return _plain(schema)


def _plain(schema: Schema) -> str:
    match schema.get("type"):
        case "array":
            return f"array of {kind(schema.get('items', {}))}"
        case "object" if isinstance(schema.get("additionalProperties"), Mapping):
            return f"object of {kind(schema['additionalProperties'])}"
        case str(word):
            return f"{word} ({schema['format']})" if "format" in schema else word
        case _:
            return "any"


_BOUNDS = {
    "minimum": "≥ {:,}",
    "exclusiveMinimum": "> {:,}",
    "maximum": "≤ {:,}",
    "exclusiveMaximum": "< {:,}",
    "minLength": "at least {:,} characters",
    "maxLength": "at most {:,} characters",
    "minItems": "at least {:,} elements",
    "maxItems": "at most {:,} elements",
    "minProperties": "at least {:,} keys",
    "maxProperties": "at most {:,} keys",
}
_NOT_EMPTY = {"minLength", "minItems", "minProperties"}


def bounds(schema: Schema) -> str:
    """Return the bounds of a schema in words."""
    return ", ".join(dict.fromkeys(_bounds(schema)))


def _bounds(schema: Schema) -> Iterator[str]:
    for option in schema.get("anyOf", ()):
        yield from _bounds(option)
    for key, text in _BOUNDS.items():
        if key in schema:
            bound = schema[key]
            if bound == 1 and key in _NOT_EMPTY:
                yield "not empty"
            else:
                yield text.format(int(bound) if bound == int(bound) else bound)
