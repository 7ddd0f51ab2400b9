"""Corrections of the framework's OpenAPI document."""

from typing import Any

from app.web.auth import PUBLIC_PATHS

Schema = dict[str, Any]

_FRAMEWORK_ERRORS = ("HTTPValidationError", "ValidationError")
_NULL = {"type": "null"}


def tidied(document: Schema) -> Schema:
    """Return the document without inaccurate or empty parts.

    These are the framework's own validation errors, the null alternative of optional bodies, the
    key of public paths, and titles generated from field names.
    """
    schemas = document["components"]["schemas"]
    for name in _FRAMEWORK_ERRORS:
        schemas.pop(name, None)
    for schema in schemas.values():
        for field in schema.get("properties", {}).values():
            field.pop("title", None)
    for path, operations in document["paths"].items():
        for operation in operations.values():
            _tidy_operation(operation)
            if path in PUBLIC_PATHS:
                operation["security"] = []
    return document


def _tidy_operation(operation: Schema) -> None:
    operation["responses"].pop("422", None)
    for parameter in operation.get("parameters", ()):
        parameter["schema"].pop("title", None)
    for media in operation.get("requestBody", {}).get("content", {}).values():
        media["schema"] = _without_null(media["schema"])


def _without_null(schema: Schema) -> Schema:
    choices = [choice for choice in schema.get("anyOf", ()) if choice != _NULL]
    return choices[0] if len(choices) == 1 else schema
