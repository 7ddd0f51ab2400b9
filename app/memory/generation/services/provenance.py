"""Provenance of the events of a generation, for the memories made from them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.kernel.wire.scalars import format_timestamp
from app.memory.generation.schemas import ContentEvent
from app.memory.generation.services.turns import turn_of

_DIGEST_BYTES = 16


@dataclass(frozen=True)
class StreamPlace:
    """A source, and the number of each event of a generation in it.

    Attributes:
        times: the arrival times of events that have no time; empty if unknown.
        again: the numbers of events that an earlier generation of the source has read.
    """

    source: str
    positions: Sequence[int]
    times: Sequence[datetime] = ()
    again: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Provenance:
    """The provenance columns of a memory, by the event that it rests on.

    Attributes:
        times: the times of the events, if known.
        place: the source of the events; None for given facts.
        now: the time for events without a time.
    """

    times: Sequence[datetime | None]
    place: StreamPlace | None
    now: datetime

    def said_at(self, turn: int) -> datetime:
        """Return the time of a turn, but not later than now.

        Otherwise, a client's fast clock would let a statement overrule all later ones.
        """
        moment = self.times[turn] if self.times else None
        return self.now if moment is None or moment > self.now else moment

    def of(self, turn: int | None) -> dict[str, Any]:
        """Return the columns; `turn` is the last turn that the memory rests on, if any."""
        if turn is None:
            return {}
        if self.place is None:
            return {"source": None, "position": None, "event_time": self.now}
        return {
            "source": self.place.source,
            "position": float(self.place.positions[turn]),
            "event_time": self.said_at(turn),
        }


def place_of(scope: Mapping[str, str], events: Sequence[ContentEvent]) -> StreamPlace:
    """Return the place of a conversation that has no name."""
    said = [(event.event_id, _written(event.event_time), *_spoken(event)) for event in events]
    source = digest("conversation", sorted(scope.items()), said)
    return StreamPlace(source, range(1, len(events) + 1))


def _written(moment: datetime | None) -> str:
    return "" if moment is None else format_timestamp(moment)


def _spoken(event: ContentEvent) -> tuple[str, str]:
    turn = turn_of(event)
    return turn.role, turn.text


def digest(*values: object) -> str:
    """Return a name for a source without one; the text cannot be recovered from it."""
    written = json.dumps(values).encode()
    return hashlib.blake2b(written, digest_size=_DIGEST_BYTES).hexdigest()
