"""Provenance of a memory: its source, its position in it, and the times of its statements."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from app.kernel.wire.scalars import parse_timestamp

_MAX_SOURCE_CHARS = 200
"""A longer source would not fit into an index entry."""


class EndedFact(NamedTuple):
    """A fact that was taken back: its memory, and the time at which it ended."""

    memory_id: str
    ended_at: datetime


def named_in(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns with values in the metadata: `source`, `position` and `event_time`."""
    columns: dict[str, Any] = {}
    source = _value(metadata, "source", "stringValue")
    if source is not None:
        columns["source"] = source[:_MAX_SOURCE_CHARS]
    position = _value(metadata, "position", "doubleValue")
    if position is not None:
        columns["position"] = float(position)
    event_time = _value(metadata, "event_time", "timestampValue")
    if event_time is not None:
        # Requests are validated earlier. Here, one bad row must not end a sweep of many.
        with suppress(ValueError):
            columns["event_time"] = parse_timestamp(event_time)
    return columns


def _value(metadata: Mapping[str, Any], key: str, kind: str) -> Any:  # noqa: ANN401 - of its kind
    value = metadata.get(key)
    return value.get(kind) if isinstance(value, dict) else None
