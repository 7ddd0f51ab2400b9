"""The operations of the OpenAPI document, as the source of `_calls.py`."""

import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scripts.client.schemas import Schema, annotation, sentences

_HEAD = '''\
"""The operations of the service, and the arguments that each takes.

Written by `make client` from openapi/openapi.json.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from open_memory_bank import types
from open_memory_bank._requests import Call, MetadataValue

if sys.version_info >= (3, 11):
    from typing import Required
else:
    from typing_extensions import Required
'''
_ENGINE = "/v1beta1/projects/{project}/locations/{location}/reasoningEngines/{engine}"
_ENGINES = _ENGINE.rpartition("/")[0]
_HARMLESS = {
    "composeContext",
    "estimateContextCosts",
    "findResources",
    "recallMemories",
    "recallSession",
    "recallSessions",
    "retrieveMemories",
    "retrieveProfiles",
    "revokeKey",
    "validateReasoningEngine",
    "waitOperation",
}
"""Operations with a body that take no id of the request and may be done twice; any other without
an id is not sent again once it may have arrived."""
_HEADERS = {
    "idempotency-key": "idempotency_key",
    "if-match": "etag",
    "content-digest": "content_digest",
}
_LEFT_OUT = {"requestId", "if-none-match", "if-range", "Range"}
"""`requestId` is another form of a header; the others are for caches and parts of downloads."""
_ANSWER_CODE = "200"


def calls_file(document: Schema) -> str:
    """Return the source of `_calls.py`.

    Raises:
        ValueError: an operation has an argument, a body or an answer that this cannot type.
    """
    written = [_HEAD]
    for path, operation, method in _operations(document):
        written += _call(path, method.upper(), operation, document)
    return "\n".join(written)


def operation_ids(document: Schema) -> set[str]:
    """Return the ids of all operations."""
    return {operation["operationId"] for _, operation, _ in _operations(document)}


def snake(name: str) -> str:
    """Return the name of an argument for a name on the wire; a keyword of Python gets a `_`."""
    found = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
    return f"{found}_" if keyword.iskeyword(found) else found


def _operations(document: Schema) -> Iterator[tuple[str, Schema, str]]:
    found = [
        (path, operation, method)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method != "parameters"
    ]
    yield from sorted(found, key=lambda row: row[1]["operationId"])


def _call(path: str, method: str, operation: Schema, document: Schema) -> list[str]:
    id_ = operation["operationId"]
    parameters = operation.get("parameters", [])
    headers = {row["name"] for row in parameters if row["in"] == "header"}
    unknown = headers - _HEADERS.keys() - _LEFT_OUT
    if unknown:
        raise ValueError(f"{id_} takes headers that the client does not know: {sorted(unknown)}.")
    query = {
        row["name"]: row["schema"]
        for row in parameters
        if row["in"] == "query" and row["name"] not in _LEFT_OUT
    }
    body = _body(operation, document)
    fields = {name: inner for name, inner in body.get("properties", {}).items() if name != "etag"}
    names = {name: inner for name, inner in fields.items() if name not in query}
    is_change = "idempotency-key" in headers
    values = [
        f'"{id_}", "{method}", "{_short(path)}"',
        *([f"query={_by_argument(query)!r}"] if query else []),
        *([f"body={_by_argument(names)!r}"] if names else []),
        *(["is_change=True"] if is_change else []),
        *([] if method == "GET" or is_change or id_ in _HARMLESS else ["is_repeatable=False"]),
        *(["has_typed_metadata=True"] if _has_typed_metadata(names) else []),
    ]
    constant = snake(id_).upper()
    lines = [f"{constant}: Call[{_answer(operation)}] = Call({', '.join(values)})", "", ""]
    rows = list(_rows(query, names, body.get("required", []), headers))
    return lines + (_options(id_, rows) if rows else [])


def _by_argument(names: Iterable[str]) -> dict[str, str]:
    return {snake(name): name for name in names}


def _body(operation: Schema, document: Schema) -> Schema:
    """Return the schema of a JSON body; of another, or without one, an empty schema."""
    content: Mapping[str, Any] = operation.get("requestBody", {}).get("content", {})
    if "application/json" not in content:
        return {}
    schema: Schema = content["application/json"]["schema"]
    for part in schema.get("anyOf", [schema]):
        if "$ref" in part:
            found: Schema = document["components"]["schemas"][part["$ref"].rpartition("/")[2]]
            if found.get("type") == "object":
                return found
    raise ValueError(f"{operation['operationId']} takes a body that is no named object.")


def _answer(operation: Schema) -> str:
    content: Mapping[str, Any] = operation["responses"][_ANSWER_CODE].get("content", {})
    if "application/json" not in content:
        return "bytes"
    schema = content["application/json"]["schema"]
    if "$ref" not in schema:
        raise ValueError(f"{operation['operationId']} answers with a schema without a name.")
    return annotation(schema, "types.")


def _short(path: str) -> str:
    return path.replace(_ENGINE, "{engine}").replace(_ENGINES, "{engines}")


def _has_typed_metadata(fields: Schema) -> bool:
    return "MemoryMetadataValue" in str(fields.get("metadata"))


def _rows(
    query: Schema, body: Schema, required: list[str], headers: set[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield name, annotation and description of each argument."""
    for name, schema in query.items():
        yield snake(name), _argument(name, schema), schema.get("description", "")
    for name, schema in body.items():
        value = _argument(name, schema)
        value = f"Required[{value}]" if name in required else value
        yield snake(name), value, schema.get("description", "")
    for header, name in _HEADERS.items():
        if header in headers:
            yield name, "str | None", _SAID[name]


_SAID = {
    "idempotency_key": "Id of the request, of at most 128 characters; absent: a random one.",
    "etag": "Version that is changed; the change of another one is refused.",
    "content_digest": "Digest of the bytes, as `sha-256=:...:`.",
}


def _argument(name: str, schema: Schema) -> str:
    found = annotation(schema, "types.")
    if name == "metadata" and "MemoryMetadataValue" in found:
        found = found.replace("types.MemoryMetadataValue", "MetadataValue")
    if found.startswith("list["):
        found = f"Sequence[{found.removeprefix('list[')}"
    if found.startswith("dict["):
        found = f"Mapping[{found.removeprefix('dict[')}"
    return found


def _options(id_: str, rows: list[tuple[str, str, str]]) -> list[str]:
    name = id_[0].upper() + id_[1:]
    lines = [f"class {name}(TypedDict, total=False):", f'    """Arguments of `{id_}`."""', ""]
    for field, value, said in rows:
        lines.append(f"    {field}: {value}")
        if said:
            lines.append(f"    {sentences(said, '    ')}")
    return [*lines, "", ""]
