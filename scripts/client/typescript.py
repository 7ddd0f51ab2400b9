"""The schemas and the operations of the OpenAPI document, as TypeScript."""

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping

from scripts.client.calls import HEADERS, SAID, Operation, operations
from scripts.client.schemas import Language, Schema, annotation, is_class, named_schemas

HEAD = "// Written by `make client` from openapi/openapi.json.\n"
_TYPESCRIPT = Language(
    plain={
        "string": "string",
        "integer": "number",
        "number": "number",
        "boolean": "boolean",
        "null": "null",
    },
    anything="unknown",
    literals="{}",
    between_literals=" | ",
    array="Array<{}>",
    mapping="Record<string, {}>",
)
WIDTH = 100
_NAME = re.compile(r"[A-Za-z_]\w*")
_FIRST_IN_WORD = re.compile(r"_([a-z])")


def types_file(document: Schema) -> str:
    """Return the source of `types.ts`.

    Raises:
        ValueError: a schema has a form that this cannot type, or a name that is no type's.
    """
    written = [HEAD, "// Shapes of requests and answers.\n"]
    for name, schema in sorted(named_schemas(document).items()):
        said = [f"/** {name}. */"] if not schema.get("description") else []
        lines = said or comment(schema["description"])
        if is_class(schema):
            rows = schema.get("properties", {})
            lines += interface(name, _fields(rows, schema.get("required", [])))
        else:
            value = annotation(schema, language=_TYPESCRIPT)
            lines += _wrapped(f"export type {name} = {value};", "", "  ")
        written.append("\n".join(lines) + "\n")
    return "\n".join(written)


def calls_file(document: Schema) -> str:
    """Return the source of `calls.ts`.

    Raises:
        ValueError: an operation has an argument, a body or an answer that this cannot type.
    """
    written = [HEAD, "// The operations of the service, and the arguments that each takes.\n"]
    written.append('import type { Call, MetadataValue } from "./request.js";')
    written.append('import type * as types from "./types.js";\n')
    for operation in operations(document):
        lines = _call(operation)
        if operation.takes_options:
            lines += ["", f"/** Arguments of `{operation.id}`. */"]
            lines += interface(operation.options, _rows(operation))
        written.append("\n".join(lines) + "\n")
    return "\n".join(written)


def camel(name: str) -> str:
    """Return the name in camelCase for one in snake_case; a `_` at the end is left out."""
    return _FIRST_IN_WORD.sub(lambda found: found[1].upper(), name.rstrip("_"))


def comment(text: str, indent: str = "") -> list[str]:
    """Return a description as a comment."""
    escaped = " ".join(text.replace("*/", "*\\/").split())
    room = WIDTH - len(indent)
    if len(escaped) + len("/**  */") <= room:
        return [f"{indent}/** {escaped} */"]
    lines = _wrapped(escaped, f"{indent} * ")
    return [f"{indent}/**", *lines, f"{indent} */"]


def interface(name: str, fields: Iterable[tuple[str, str, str]]) -> list[str]:
    """Return an interface of fields: name with its mark, type, and description."""
    lines = [f"export interface {name} {{"]
    for field, value, said in fields:
        lines += comment(said, "  ") if said else []
        lines += _wrapped(f"{field}: {value};", "  ", "    ")
    return [*lines, "}"]


def has_required(operation: Operation) -> bool:
    """Return whether an operation has arguments that must be given."""
    return any(name in operation.required for name in operation.body)


def _call(operation: Operation) -> list[str]:
    names = {"query": list(operation.query), "body": list(operation.body)}
    values = {
        "id": operation.id,
        "method": operation.method,
        "path": re.sub(r"\{(\w+)\}", lambda found: f"{{{camel(found[1])}}}", operation.path),
        **{name: given for name, given in names.items() if given},
        **({"isChange": True} if operation.is_change else {}),
        **({} if operation.is_repeatable else {"isRepeatable": False}),
        **({"hasTypedMetadata": True} if operation.has_typed_metadata else {}),
    }
    lines = [f"export const {operation.constant}: Call = {{"]
    for name, value in values.items():
        lines += _wrapped(f"{name}: {json.dumps(value)},", "  ", "    ")
    return [*lines, "};"]


def _fields(
    rows: Mapping[str, Schema], required: Iterable[str], prefix: str = ""
) -> Iterator[tuple[str, str, str]]:
    for name, schema in rows.items():
        quoted = name if _NAME.fullmatch(name) else json.dumps(name)
        mark = "" if name in required else "?"
        value = annotation(schema, prefix, _TYPESCRIPT)
        yield f"{quoted}{mark}", value, schema.get("description", "")


def _rows(operation: Operation) -> Iterator[tuple[str, str, str]]:
    for name, value, said in [
        *_fields(operation.query, (), "types."),
        *_fields(operation.body, operation.required, "types."),
    ]:
        is_metadata = name.startswith("metadata") and operation.has_typed_metadata
        old, new = "types.MemoryMetadataValue", "MetadataValue"
        yield name, value.replace(old, new) if is_metadata else value, said
    for header, name in HEADERS.items():
        if header in operation.headers:
            yield f"{camel(name)}?", "string", SAID[name]


def _wrapped(text: str, indent: str, further: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if further is None else further,
        break_long_words=False,
        break_on_hyphens=False,
    )
