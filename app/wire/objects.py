"""Free JSON objects in a request: any keys and values, up to a size."""

import json
from typing import Annotated, Any

from pydantic import AfterValidator, Field

MAX_OBJECT_BYTES = 64 * 1024


def check_size(value: dict[str, Any]) -> dict[str, Any]:
    """Refuse an object that is too large to be kept with a row.

    Raises:
        ValueError: it has more bytes as JSON than are accepted.
    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    if len(text.encode()) > MAX_OBJECT_BYTES:
        raise ValueError(f"must have at most {MAX_OBJECT_BYTES} bytes as JSON")
    return value


BoundedObject = Annotated[
    dict[str, Any],
    AfterValidator(check_size),
    Field(description=f"At most {MAX_OBJECT_BYTES} bytes as JSON."),
]
