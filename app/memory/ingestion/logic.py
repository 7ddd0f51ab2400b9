"""Rules that decide when a stream's events are ripe, and which one generation reads.

| Part of the rule | The stream is ripe |
| --- | --- |
| no rule, or one without conditions | at once |
| `eventCount` | when that many events wait |
| `idleDuration` | that long after the last event arrived |
| `fixedInterval` | at the next tick after the oldest waiting event arrived |

Ticks count from the beginning of the stream. The first condition that is met counts. A setting
limits the waiting time of events under any rule.

Source: wire specification, section 9; the API's definition of `GenerationTriggerRule`: "trigger
generation at a fixed interval", "if the stream is inactive for the specified duration after the
most recent event".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from app.kernel.errors import Reason, Unavailable
from app.memory.generation.logic.outcomes import count_fitting
from app.platform.engines.logic.config import GenerationRule, GenerationTriggerConfig
from app.platform.operations.logic.states import OperationState

_MAX_DOUBLINGS = 20


@dataclass(frozen=True)
class Buffer:
    """Waiting events of a stream; `oldest` and `newest` are times of arrival.

    `is_flushed` is True if a caller has requested immediate processing of some events.
    """

    begin: datetime
    oldest: datetime
    newest: datetime
    count: int
    is_flushed: bool


def rule_for(
    asked: GenerationTriggerConfig | None, bank: GenerationTriggerConfig | None
) -> GenerationRule | None:
    """Return the request's rule, or the bank's without one; None: process events at once."""
    # A request with a configuration, but no rule, overrides the bank's rule with "at once".
    config = asked if asked is not None else bank
    rule = config.generation_rule if config is not None else None
    has_condition = rule is not None and (
        rule.event_count or rule.idle_duration or rule.fixed_interval
    )
    return rule if has_condition else None


def ripe_time(
    rule: GenerationRule | None, buffer: Buffer, now: datetime, longest: timedelta
) -> datetime:
    """Return the due time of generation from the waiting events; `now` if they are ripe."""
    if rule is None or buffer.is_flushed or _is_full(rule, buffer):
        return now
    moments = [buffer.oldest + longest]
    if rule.idle_duration is not None:
        # Limited before the addition: a long duration could exceed the range of datetime.
        moments.append(buffer.newest + min(rule.idle_duration, longest))
    if rule.fixed_interval is not None:
        moments.append(buffer.oldest + min(_to_next_tick(rule.fixed_interval, buffer), longest))
    return max(now, min(moments))


def is_own_failure(state: str, error: Mapping[str, Any] | None) -> bool:
    """Return True if a stream's operation failed for a reason other than a database outage."""
    # An outage makes every stream fail, so it must not count against this stream.
    if state != OperationState.FAILED or error is None:
        return False
    is_away = error["details"][0]["reason"] == Reason.DATABASE_UNAVAILABLE
    return not (is_away and error["code"] == Unavailable.code)


def pause(failures: int, first: timedelta, longest: timedelta) -> timedelta:
    """Return the pause of a stream after consecutive failures; it doubles each time."""
    return min(first * (1 << min(failures - 1, _MAX_DOUBLINGS)), max(first, longest))


def _is_full(rule: GenerationRule, buffer: Buffer) -> bool:
    return rule.event_count is not None and buffer.count >= rule.event_count


def _to_next_tick(interval: timedelta, buffer: Buffer) -> timedelta:
    """Return the time from the oldest event's arrival to the next tick; never zero."""
    return interval - (buffer.oldest - buffer.begin) % interval


@dataclass(frozen=True)
class ListedEvent:
    """An event, without its content; id, time and offset are the sender's, if known.

    Attributes:
        time: the sender's time; the arrival time if the sender gave none.
        batch_limit: the maximum size of a batch with this event; None: no limit.
        utc_offset: the offset from UTC in minutes.
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
    """Return the events for one generation within the limits, but at least one."""
    # Events that failed before get separate batches, so they cannot block other events.
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
