"""Python types of the schemas of the OpenAPI document, as the source of `types.py`."""

import keyword
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Language:
    """The words of a language for types; `{}` stands for the inner ones."""

    plain: Mapping[str, str]
    anything: str
    literals: str
    between_literals: str
    array: str
    mapping: str


PYTHON = Language(
    plain={"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"},
    anything="Any",
    literals="Literal[{}]",
    between_literals=", ",
    array="list[{}]",
    mapping="dict[str, {}]",
)
_SAYS_NOTHING = {"description", "title", "examples", "default"}
_WIDTH = 92
_HEAD = '''\
"""Shapes of requests and answers, with the names that they have on the wire.

Written by `make client` from openapi/openapi.json.
"""

from __future__ import annotations

import sys
from typing import Any, Literal, TypedDict

if sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    from typing_extensions import NotRequired
'''


def types_file(document: Schema) -> str:
    """Return the source of `types.py`.

    Raises:
        ValueError: a schema has a form that this cannot type, or a name that is no class's.
    """
    schemas = named_schemas(document)
    aliases = [name for name, schema in schemas.items() if not is_class(schema)]
    classes = sorted(schemas.keys() - aliases)
    written = [f"{name} = {annotation(schemas[name])}\n" for name in sorted(aliases)]
    written += [_class(name, schemas[name]) for name in classes]
    return "\n".join([_HEAD, *written])


def named_schemas(document: Schema) -> Mapping[str, Schema]:
    """Return the schemas that have a name, also those that are written out inside of others.

    Raises:
        ValueError: a name is no class's.
    """
    schemas = {**document["components"]["schemas"], **dict(_inner(document))}
    wrong = [name for name in schemas if not name.isidentifier() or name.startswith("_")]
    if wrong:
        raise ValueError(f"Schemas whose names are no classes': {wrong}.")
    return schemas


def annotation(schema: Schema, prefix: str = "", language: Language = PYTHON) -> str:
    """Return the annotation of a value; names of schemas get the prefix.

    Raises:
        ValueError: the schema has a form that this cannot type.
    """
    if "$ref" in schema:
        found = f"{prefix}{schema['$ref'].rpartition('/')[2]}"
    elif is_class(schema) and "title" in schema:
        found = f"{prefix}{schema['title']}"
    elif "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        found = language.literals.format(language.between_literals.join(map(_quoted, values)))
    elif "anyOf" in schema or "oneOf" in schema:
        parts = schema.get("anyOf", schema.get("oneOf", ()))
        found = " | ".join(dict.fromkeys(annotation(part, prefix, language) for part in parts))
    else:
        found = _by_kind(schema, prefix, language)
    return found


def sentences(text: str, indent: str) -> str:
    """Return a description as a docstring."""
    escaped = text.replace("\\", "\\\\").replace('"""', "'''")
    lines = textwrap.wrap(escaped, _WIDTH - len(indent) - 6, break_on_hyphens=False)
    return f'"""{f"{chr(10)}{indent}".join(lines)}"""'


def _by_kind(schema: Schema, prefix: str, language: Language) -> str:
    kind = schema.get("type")
    if kind is None and schema.keys() <= _SAYS_NOTHING:
        found = language.anything
    elif kind == "array":
        found = language.array.format(annotation(schema["items"], prefix, language))
    elif kind == "object":
        values = schema.get("additionalProperties", True)
        is_typed = isinstance(values, Mapping) and not is_class(schema)
        inner = annotation(values, prefix, language) if is_typed else language.anything
        found = language.mapping.format(inner)
    elif isinstance(kind, str) and kind in language.plain:
        found = language.plain[kind]
    else:
        raise ValueError(f"No type for the schema {schema}.")
    return found


def is_class(schema: Schema) -> bool:
    """Return whether a schema is written as a class with fields."""
    return schema.get("type") == "object" and ("properties" in schema or _is_empty(schema))


def _is_empty(schema: Schema) -> bool:
    return schema.get("additionalProperties") is False and "properties" not in schema


def _inner(value: object) -> Iterator[tuple[str, Schema]]:
    """Yield the named objects that are written out inside of other schemas."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in ("items", "anyOf"):
                for part in inner if isinstance(inner, list) else [inner]:
                    if is_class(part) and "title" in part:
                        yield part["title"], part
            yield from _inner(inner)
    elif isinstance(value, list):
        for item in value:
            yield from _inner(item)


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _class(name: str, schema: Schema) -> str:
    """Return a TypedDict; names that no attribute can have come from a base class."""
    fields = schema.get("properties", {})
    required = schema.get("required", [])
    odd = [field for field in fields if not field.isidentifier() or keyword.iskeyword(field)]
    said = schema.get("description") or schema.get("title") or name
    lines = []
    base = "TypedDict"
    if odd:
        base = f"_{name}Base"
        inner = ", ".join(f'"{field}": {annotation(fields[field])}' for field in odd)
        lines += [f'{base} = TypedDict("{base}", {{{inner}}})', "", ""]
    lines += [f"class {name}({base}):", f"    {_paragraphs(said)}", ""]
    for field, inner in fields.items():
        if field in odd:
            continue
        value = annotation(inner)
        lines.append(f"    {field}: {value if field in required else f'NotRequired[{value}]'}")
        if inner.get("description"):
            lines.append(f"    {sentences(inner['description'], '    ')}")
    return "\n".join([*lines, ""])


def _paragraphs(text: str) -> str:
    first, _, rest = text.partition("\n\n")
    docstring = sentences(" ".join(first.split()), "    ")
    if rest:
        more = textwrap.fill(" ".join(rest.split()), _WIDTH, break_on_hyphens=False)
        more = textwrap.indent(more, "    ")
        docstring = f"{docstring.removesuffix(chr(34) * 3)}\n\n{more}\n    " + '"""'
    return docstring
