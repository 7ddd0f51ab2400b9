"""The operations of the OpenAPI document, as the source of `_calls.py`."""

import keyword
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
HEADERS = {
    "idempotency-key": "idempotency_key",
    "if-match": "etag",
    "content-digest": "content_digest",
}
SAID = {
    "idempotency_key": "Id of the request, of at most 128 characters; absent: a random one.",
    "etag": "Version that is changed; the change of another one is refused.",
    "content_digest": "Digest of the bytes, as `sha-256=:...:`.",
}
_LEFT_OUT = {"requestId", "if-none-match", "if-range", "Range"}
"""`requestId` is another form of a header; the others are for caches and parts of downloads."""
_ANSWER_CODE = "200"


@dataclass(frozen=True)
class Operation:
    """An operation of the document.

    Attributes:
        query, body: its arguments by where they go, with their names on the wire.
        required: the fields of the body that must be given.
        headers: its headers, in small letters.
        sends: the media types of its body.
        answer: the schema of its answer; None: the answer is not JSON.
    """

    id: str
    method: str
    path: str
    query: Schema
    body: Schema
    required: Sequence[str]
    headers: frozenset[str]
    sends: Sequence[str]
    answer: Schema | None

    @property
    def constant(self) -> str:
        """The name of its constant."""
        return snake(self.id).upper()

    @property
    def options(self) -> str:
        """The name of the type of its arguments."""
        return self.id[0].upper() + self.id[1:]

    @property
    def takes_options(self) -> bool:
        """Whether it has arguments beside the parts of its path."""
        return bool(self.query or self.body or HEADERS.keys() & self.headers)

    @property
    def is_change(self) -> bool:
        """Whether it takes an id of the request, under which it is done once."""
        return "idempotency-key" in self.headers

    @property
    def is_repeatable(self) -> bool:
        """Whether it may be sent again once it may have arrived."""
        return self.method == "GET" or self.is_change or self.id in _HARMLESS

    @property
    def has_typed_metadata(self) -> bool:
        """Whether the values of `metadata` are by their kind."""
        return "MemoryMetadataValue" in str(self.body.get("metadata"))


def operations(document: Schema) -> Iterator[Operation]:
    """Yield the operations by their ids.

    Raises:
        ValueError: an operation has an argument, a body or an answer that no client can type.
    """
    found = [
        _operation(path, method.upper(), operation, document)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method != "parameters"
    ]
    yield from sorted(found, key=lambda row: row.id)


def calls_file(document: Schema) -> str:
    """Return the source of `_calls.py`.

    Raises:
        ValueError: an operation has an argument, a body or an answer that this cannot type.
    """
    written = [_HEAD]
    for operation in operations(document):
        written += _call(operation)
    return "\n".join(written)


def operation_ids(document: Schema) -> set[str]:
    """Return the ids of all operations."""
    return {operation.id for operation in operations(document)}


def snake(name: str) -> str:
    """Return the name of an argument for a name on the wire; a keyword of Python gets a `_`."""
    found = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
    return f"{found}_" if keyword.iskeyword(found) else found


def _operation(path: str, method: str, operation: Schema, document: Schema) -> Operation:
    id_ = operation["operationId"]
    parameters = operation.get("parameters", [])
    headers = frozenset(row["name"] for row in parameters if row["in"] == "header")
    unknown = headers - HEADERS.keys() - _LEFT_OUT
    if unknown:
        raise ValueError(f"{id_} takes headers that the client does not know: {sorted(unknown)}.")
    query = {
        row["name"]: row["schema"]
        for row in parameters
        if row["in"] == "query" and row["name"] not in _LEFT_OUT
    }
    body = _body(operation, document)
    fields = {name: inner for name, inner in body.get("properties", {}).items() if name != "etag"}
    return Operation(
        id=id_,
        method=method,
        path=_short(path),
        query=query,
        body={name: inner for name, inner in fields.items() if name not in query},
        required=body.get("required", []),
        headers=headers,
        sends=list(operation.get("requestBody", {}).get("content", {})),
        answer=_answer(operation),
    )


def _call(operation: Operation) -> list[str]:
    values = [
        f'"{operation.id}", "{operation.method}", "{operation.path}"',
        *([f"query={_by_argument(operation.query)!r}"] if operation.query else []),
        *([f"body={_by_argument(operation.body)!r}"] if operation.body else []),
        *(["is_change=True"] if operation.is_change else []),
        *([] if operation.is_repeatable else ["is_repeatable=False"]),
        *(["has_typed_metadata=True"] if operation.has_typed_metadata else []),
    ]
    answer = "bytes" if operation.answer is None else annotation(operation.answer, "types.")
    constant = operation.constant
    lines = [f"{constant}: Call[{answer}] = Call({', '.join(values)})", "", ""]
    return lines + (_options(operation) if operation.takes_options else [])


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


def _answer(operation: Schema) -> Schema | None:
    content: Mapping[str, Any] = operation["responses"][_ANSWER_CODE].get("content", {})
    if "application/json" not in content:
        return None
    schema: Schema = content["application/json"]["schema"]
    if "$ref" not in schema:
        raise ValueError(f"{operation['operationId']} answers with a schema without a name.")
    return schema


def _short(path: str) -> str:
    return path.replace(_ENGINE, "{engine}").replace(_ENGINES, "{engines}")


def _rows(operation: Operation) -> Iterator[tuple[str, str, str]]:
    """Yield name, annotation and description of each argument."""
    for name, schema in operation.query.items():
        yield snake(name), _argument(name, schema), schema.get("description", "")
    for name, schema in operation.body.items():
        value = _argument(name, schema)
        value = f"Required[{value}]" if name in operation.required else value
        yield snake(name), value, schema.get("description", "")
    for header, name in HEADERS.items():
        if header in operation.headers:
            yield name, "str | None", SAID[name]


def _argument(name: str, schema: Schema) -> str:
    found = annotation(schema, "types.")
    if name == "metadata" and "MemoryMetadataValue" in found:
        found = found.replace("types.MemoryMetadataValue", "MetadataValue")
    if found.startswith("list["):
        found = f"Sequence[{found.removeprefix('list[')}"
    if found.startswith("dict["):
        found = f"Mapping[{found.removeprefix('dict[')}"
    return found


def _options(operation: Operation) -> list[str]:
    said = f'    """Arguments of `{operation.id}`."""'
    lines = [f"class {operation.options}(TypedDict, total=False):", said, ""]
    for field, value, said in _rows(operation):
        lines.append(f"    {field}: {value}")
        if said:
            lines.append(f"    {sentences(said, '    ')}")
    return [*lines, "", ""]
