"""Which events one generation reads (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

MAX_BATCH_BYTES = 8 * 1024 * 1024
"""How much of what events say one generation reads at most; of the overlap, as much again."""


@dataclass(frozen=True)
class Listed:
    """An event, without what it says.

    Attributes:
        seq: its number in the stream.
        time: when it happened.
        arrival_time: when it came.
        content_bytes: the length of what it says.
        batch_limit: with how many it is read at most; None for any number.
    """

    seq: int
    time: datetime
    arrival_time: datetime
    content_bytes: int
    batch_limit: int | None


def in_order(event: Listed) -> tuple[datetime, int]:
    """Return the key by which events are sorted."""
    return event.time, event.seq


def first_batch(due: Sequence[Listed]) -> Sequence[Listed]:
    """Return how far one generation reads: at least one event, within the bounds.

    What failed before is read without what did not, so that it cannot hold that back.
    """
    if not due:
        return ()
    limit = due[0].batch_limit
    alike = [event for event in due if event.batch_limit == limit]
    fitting = _fitting(alike[:limit])
    return alike[: max(1, fitting)]


def last(events: Sequence[Listed], count: int) -> Sequence[Listed]:
    """Return the last events, at most `count` and within the bound of bytes."""
    latest = events[max(0, len(events) - count) :]
    fitting = _fitting(latest[::-1])
    return latest[len(latest) - fitting :]


def _fitting(events: Sequence[Listed]) -> int:
    """Return how many of the first events are within the bound of bytes."""
    total = 0
    for number, event in enumerate(events):
        total += event.content_bytes
        if total > MAX_BATCH_BYTES:
            return number
    return len(events)
