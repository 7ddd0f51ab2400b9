"""Corrections of the framework's OpenAPI document."""

from typing import Any

from pydantic.json_schema import models_json_schema

from app.web.auth import PUBLIC_PATHS
from app.web.errors import ErrorBody

Schema = dict[str, Any]

_FRAMEWORK_ERRORS = ("HTTPValidationError", "ValidationError")
_NULL = {"type": "null"}
TAGS = {
    "memories": "Facts about somebody or something, and their deletion.",
    "revisions": "The history of memories, and the way back.",
    "retrieval": "Memories of a scope, by meaning or by age, and profiles.",
    "generation": "Memories from conversations, at once or as events come in.",
    "sessions": "Conversations, with their events and their state.",
    "contexts": "Prompts from a conversation: strategies, summaries, recall, costs.",
    "memory tools": "Memories as tools for models that call functions.",
    "task memory": "Outputs of tools that are kept off the prompt, and their readers.",
    "operations": "Work with a result: waiting for it, cancelling, retrying, undoing.",
    "engines": "Memory banks with their configuration, and methods for a whole bank.",
    "usage": "Calls of models by day, and the use of an engine's quotas.",
    "keys": "API keys, with their permissions and their reach.",
    "audit": "The log of changes and refusals, each with its caller.",
    "service": "The running service: health, metrics, processes.",
}
"""Groups of methods in the order of use, with their descriptions."""


def tidied(document: Schema) -> Schema:
    """Return the document without inaccurate or empty parts, and with the groups of methods.

    The removed parts are the framework's own validation errors, the null alternative of optional
    bodies, the key of public paths, and titles generated from field names. The server address is
    added as `/`, relative to the document.
    """
    schemas = document["components"]["schemas"]
    for name in _FRAMEWORK_ERRORS:
        schemas.pop(name, None)
    schemas |= _types_of_errors()
    for schema in schemas.values():
        for field in schema.get("properties", {}).values():
            field.pop("title", None)
    for path, operations in document["paths"].items():
        for operation in operations.values():
            _tidy_operation(operation)
            if path in PUBLIC_PATHS:
                operation["security"] = []
    tags = [{"name": name, "description": text} for name, text in TAGS.items()]
    return document | {"servers": [{"url": "/"}], "tags": tags}


def _types_of_errors() -> Schema:
    """Return the types of error answers; routes reference them by name only."""
    template = "#/components/schemas/{model}"
    _, made = models_json_schema([(ErrorBody, "serialization")], ref_template=template)
    types: Schema = made["$defs"]
    return types


def _tidy_operation(operation: Schema) -> None:
    operation["responses"].pop("422", None)
    for parameter in operation.get("parameters", ()):
        parameter["schema"].pop("title", None)
    for media in operation.get("requestBody", {}).get("content", {}).values():
        media["schema"] = _without_null(media["schema"])


def _without_null(schema: Schema) -> Schema:
    choices = [choice for choice in schema.get("anyOf", ()) if choice != _NULL]
    return choices[0] if len(choices) == 1 else schema
