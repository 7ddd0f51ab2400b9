"""Free JSON objects in a request: any keys and values, limited in size."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from app.kernel.wire.base import camel_name

MAX_OBJECT_BYTES = 64 * 1024


def size_of(value: Mapping[str, Any]) -> int:
    """Return the size of an object as JSON, in bytes."""
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def check_size(value: dict[str, Any]) -> dict[str, Any]:
    """Refuse an object that is too large to be stored with a row.

    Raises:
        ValueError: its JSON form exceeds the size limit.
    """
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
