"""Free JSON objects in a request, limited in size: any keys and values, or labels."""

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from app.kernel.wire.base import camel_name

MAX_OBJECT_BYTES = 64 * 1024
MAX_LABELS = 64
MAX_LABEL_CHARS = 64
"""Maximum characters of keys, and of values except those in revision labels."""
MAX_REVISION_LABEL_CHARS = 512
"""Maximum characters of the values of revision labels: enough for a URL or a document id."""


def size_of(value: Mapping[str, Any]) -> int:
    """Return the size of an object as JSON, in bytes."""
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def check_size(value: dict[str, Any]) -> dict[str, Any]:
    """Refuse an object that is too large to be stored with a row."""
    if size_of(value) > MAX_OBJECT_BYTES:
        raise ValueError(f"must have at most {MAX_OBJECT_BYTES} bytes as JSON")
    return value


BoundedObject = Annotated[
    dict[str, Any],
    AfterValidator(check_size),
    Field(description=f"At most {MAX_OBJECT_BYTES} bytes as JSON."),
]


def _camelised(value: object) -> object:
    if isinstance(value, dict):
        return {camel_name(key): _camelised(item) for key, item in value.items()}
    return [_camelised(item) for item in value] if isinstance(value, list) else value


AnyMessage = Annotated[dict[str, Any], BeforeValidator(_camelised)]
"""A message of another API, stored as sent except for names: both spellings in, camelCase out."""


def _checking(max_value_chars: int) -> Callable[[dict[str, str]], dict[str, str]]:
    def check(labels: dict[str, str]) -> dict[str, str]:
        if len(labels) > MAX_LABELS:
            raise ValueError(f"must have at most {MAX_LABELS} pairs")
        for key, value in labels.items():
            if not 1 <= len(key) <= MAX_LABEL_CHARS or len(value) > max_value_chars:
                raise ValueError(
                    f"must have keys of 1 to {MAX_LABEL_CHARS} characters and values of at most"
                    f" {max_value_chars}"
                )
        return labels

    return check


def _schema(max_value_chars: int) -> dict[str, Any]:
    return {
        "type": "object",
        "maxProperties": MAX_LABELS,
        "propertyNames": {"minLength": 1, "maxLength": MAX_LABEL_CHARS},
        "additionalProperties": {"type": "string", "maxLength": max_value_chars},
        "examples": [{"team": "travel"}],
    }


Labels = Annotated[
    dict[str, str],
    AfterValidator(_checking(MAX_LABEL_CHARS)),
    WithJsonSchema(_schema(MAX_LABEL_CHARS)),
]
RevisionLabels = Annotated[
    dict[str, str],
    AfterValidator(_checking(MAX_REVISION_LABEL_CHARS)),
    WithJsonSchema(_schema(MAX_REVISION_LABEL_CHARS)),
]
