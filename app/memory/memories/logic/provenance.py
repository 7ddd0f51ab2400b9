"""Where a memory comes from: its source, its place in it, and when it was said.

Whoever makes a memory of a conversation knows it; metadata that name it come first.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from app.kernel.wire.scalars import parse_timestamp

_MAX_SOURCE_CHARS = 200
"""Of any length, it would be too long for an index."""


def named_in(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that metadata name by `source`, `position` and `event_time`."""
    found: dict[str, Any] = {}
    source = _value(metadata, "source", "stringValue")
    if source is not None:
        found["source"] = source[:_MAX_SOURCE_CHARS]
    position = _value(metadata, "position", "doubleValue")
    if position is not None:
        found["position"] = float(position)
    event_time = _value(metadata, "event_time", "timestampValue")
    if event_time is not None:
        # What requests bring is read long before; one bad row must not end a sweep of many.
        with suppress(ValueError):
            found["event_time"] = parse_timestamp(event_time)
    return found


def _value(metadata: Mapping[str, Any], key: str, kind: str) -> Any:  # noqa: ANN401 - of its kind
    value = metadata.get(key)
    return value.get(kind) if isinstance(value, dict) else None
