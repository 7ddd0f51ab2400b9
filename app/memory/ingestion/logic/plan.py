"""Choice of the events that one generation reads (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.memory.generation.logic.rounds import count_fitting


@dataclass(frozen=True)
class ListedEvent:
    """An event, without its content.

    Attributes:
        seq: its number in the stream.
        time: the time at which it happened.
        arrival_time: the time at which it arrived.
        content_bytes: the length of its content.
        batch_limit: the most events that it is read with; None for any number.
        event_id: the id that its sender gave it, if any.
        event_time: the time that its sender gave it, if any; `time` is that of its arrival, else.
        utc_offset: the minutes by which the sender's clock was ahead of UTC, if known.
    """

    seq: int
    time: datetime
    arrival_time: datetime
    content_bytes: int
    batch_limit: int | None
    event_id: str | None = None
    event_time: datetime | None = None
    utc_offset: int | None = None


def in_order(event: ListedEvent) -> tuple[datetime, int]:
    """Return the sort key of an event."""
    return event.time, event.seq


def first_batch(due: Sequence[ListedEvent], most_bytes: int) -> Sequence[ListedEvent]:
    """Return the events that one generation reads: at least one, within the limits.

    Events that failed before are read apart from others, so that they cannot block them.
    """
    if not due:
        return ()
    limit = due[0].batch_limit
    alike = [event for event in due if event.batch_limit == limit]
    fitting = _fitting(alike[:limit], most_bytes)
    return alike[: max(1, fitting)]


def last(events: Sequence[ListedEvent], count: int, most_bytes: int) -> Sequence[ListedEvent]:
    """Return the last events, at most `count` and within the limit of bytes."""
    latest = events[max(0, len(events) - count) :]
    fitting = _fitting(latest[::-1], most_bytes)
    return latest[len(latest) - fitting :]


def _fitting(events: Sequence[ListedEvent], most_bytes: int) -> int:
    return count_fitting((event.content_bytes for event in events), most_bytes)
