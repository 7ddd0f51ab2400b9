"""What the framework writes into the document of the API and does not hold there."""

from typing import Any

from app.web.auth import PUBLIC_PATHS

Schema = dict[str, Any]

_FRAMEWORK_ERRORS = ("HTTPValidationError", "ValidationError")
_NULL = {"type": "null"}


def tidied(document: Schema) -> Schema:
    """Return the document without what is never answered, never taken, or says nothing.

    That is the framework's own answer to a bad request, the null that an optional body is said to
    be, the key that public paths do not ask for, and titles made from the names of fields.
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
