"""Selection of the events that one generation reads (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.memory.generation.logic.rounds import count_fitting


@dataclass(frozen=True)
class ListedEvent:
    """An event, without its content.

    Attributes:
        seq: the number of the event in the stream.
        time: the sender's time; the arrival time if the sender gave none.
        arrival_time: the time at which the event arrived.
        content_bytes: the length of the content in bytes.
        batch_limit: the maximum size of a batch with this event; None: no limit.
        event_id: the sender's id of the event, if any.
        event_time: the sender's time of the event, if any.
        utc_offset: the sender's offset from UTC in minutes, if known.
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
    """Return the events for one generation within the limits, but at least one.

    Events that failed before get separate batches, so they cannot block other events.
    """
    if not due:
        return ()
    limit = due[0].batch_limit
    alike = [event for event in due if event.batch_limit == limit]
    fitting = _fitting(alike[:limit], most_bytes)
    return alike[: max(1, fitting)]


def last(events: Sequence[ListedEvent], count: int, most_bytes: int) -> Sequence[ListedEvent]:
    """Return the last events: at most `count`, and at most `most_bytes` in total."""
    latest = events[max(0, len(events) - count) :]
    fitting = _fitting(latest[::-1], most_bytes)
    return latest[len(latest) - fitting :]


def _fitting(events: Sequence[ListedEvent], most_bytes: int) -> int:
    return count_fitting((event.content_bytes for event in events), most_bytes)
