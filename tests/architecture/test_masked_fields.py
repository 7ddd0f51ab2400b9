"""Each text that a request can hold is looked through for sensitive values, or has a reason."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic.alias_generators import to_camel

from app.artifacts.tasks.services import storing
from app.memory.generation.services.generation import MASKED_FIELDS
from app.memory.memories.services.memories import TEXT_FIELDS
from app.platform.sessions.services import history, sessions

DOCUMENT = json.loads((Path(__file__).parents[2] / "openapi" / "openapi.json").read_text())
SCHEMAS = DOCUMENT["components"]["schemas"]
LABELS = {"revision_labels"}
COVERED: Mapping[str, tuple[str, set[str]]] = {
    "CreateMemoryRequest": ("", TEXT_FIELDS),
    "UpdateMemoryRequest": ("", TEXT_FIELDS),
    "BatchCreateMemoriesRequest": ("requests[].memory.", TEXT_FIELDS),
    "DeleteMemoryRequest": ("", LABELS),
    "UndeleteMemoryRequest": ("", LABELS),
    "RollbackMemoryRequest": ("", LABELS),
    "PurgeMemoriesRequest": ("", LABELS),
    "UndoOperationRequest": ("", LABELS),
    "GenerateMemoriesRequest": ("", MASKED_FIELDS),
    "IngestEventsRequest": ("", MASKED_FIELDS),
    "CreateSessionRequest": ("", sessions.TEXT_FIELDS),
    "UpdateSessionRequest": ("", sessions.TEXT_FIELDS),
    "AppendEventRequest": ("", history.TEXT_FIELDS),
    "BatchAppendEventsRequest": ("events[].", history.TEXT_FIELDS),
    "CreateExchangeRequest": ("", history.EXCHANGE_FIELDS),
    "ProcessOutputRequest": ("", {"output", "activity"}),
    "StoreArtifactsRequest": ("", {"artifacts", "activity"}),
    "CallMemoryToolRequest": ("", {"arguments"}),
    "CallTaskToolRequest": ("", {"arguments"}),
    "LoadFilesRequest": ("", {"activity"}),
}
"""Where the fields of a request stand that are masked, and which they are."""
REASONS = {
    # Names and ids: masked, two would become one.
    r"(.*\.)?(scope|scopeConditions)\.\*(\[\])?": "A scope says whose a memory is.",
    r"(userId|streamId|memoryId|.*\.memoryId|name|session|.*Source\.session|namespace)": "An id.",
    r"(.*\.)?(as|invocationId|callId|etag|sink|targetRevisionId|.*[pP]ageToken)": "An id.",
    r"(artifacts|excludeSessions|projects|engines|kinds|scopeKeys)\[\]": "Ids.",
    r"tool|activities\.\*": "The name of a policy.",
    r"allowedTopics\[\]\.customMemoryTopicLabel": "The name of a configured topic.",
    r"labels\.\*": "A label has no blanks and no capitals, and lists filter by it.",
    r"(.*\.)?(model|summaryModel|embeddingModel|counter|timeZone)|models\..*": "A configured name.",
    r"(.*\.)?allowedModels\[\]|memory": "A configured name.",
    # Asked, and not stored.
    r"(.*\.)?(query|searchQuery|filter|pendingMessage|systemPrompt|instructions)": "Is not stored.",
    r"filterGroups.*": "Is not stored.",
    r"text|schema\.\*|source\.(path|columns\.\*)": "Is not stored.",
    r"directory|fileName|source|path|pattern": "A path on the server.",
    # Written by who operates the service or configures an engine, not by users.
    r"(memoryPolicy|policy|strategies\[\])\..*|template": "A configuration.",
    r"contextSpec\..*|encryptionSpec\..*|displayName|description": "A configuration.",
    r"(models\.\*|prices)\..*": "A number.",
}
"""Why a field is left as it is, by a pattern of its path."""


def texts(
    schema: Mapping[str, Any], path: str, seen: frozenset[str] = frozenset()
) -> Iterator[str]:
    """Yield the paths of texts without a form of their own, such as a time's."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in seen:
            yield from texts(SCHEMAS[name], path, seen | {name})
    for key in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(key, ()):
            yield from texts(one, path, seen)
    if not schema or _is_text(schema):
        yield path
    yield from _inner(schema, path, seen)


def _is_text(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "string" and not schema.keys() & {"enum", "const", "format"}


def _inner(schema: Mapping[str, Any], path: str, seen: frozenset[str]) -> Iterator[str]:
    of = schema.get("type")
    for name, one in schema.get("properties", {}).items():
        yield from texts(one, f"{path}.{name}" if path else name, seen)
    if of == "array":
        yield from texts(schema.get("items", {}), f"{path}[]", seen)
    if of == "object" and (more := schema.get("additionalProperties", True)):
        yield from texts({} if more is True else more, f"{path}.*", seen)


def bodies() -> dict[str, set[str]]:
    """Return the paths of texts in each request."""
    found: dict[str, set[str]] = {}
    for methods in DOCUMENT["paths"].values():
        for method in methods.values():
            for content in method.get("requestBody", {}).get("content", {}).values():
                reference = content.get("schema", {}).get("$ref")
                if reference is not None:
                    name = reference.rpartition("/")[2]
                    found[name] = set(texts(SCHEMAS[name], ""))
    return found


def is_covered(request: str, path: str) -> bool:
    prefix, fields = COVERED.get(request, ("", set()))
    first = re.split(r"[.\[]", path.removeprefix(prefix))[0]
    return path.startswith(prefix) and first in map(to_camel, fields)


def test_each_text_of_a_request_is_masked_or_has_its_reason() -> None:
    left = {
        (request, path)
        for request, paths in bodies().items()
        for path in paths
        if not is_covered(request, path)
    }
    assert {one for one in left if not any(re.fullmatch(r, one[1]) for r in REASONS)} == set()
    # No reason without a field, no request that is not one of the API's.
    assert [r for r in REASONS if not any(re.fullmatch(r, path) for _, path in left)] == []
    assert COVERED.keys() <= bodies().keys()


def test_what_is_masked_of_outputs_is_all_that_they_say() -> None:
    assert {"text", "json_value"} == storing.TEXT_FIELDS
