"""Where the events of a generation stand, for the memories that are made of them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.memory.generation.schemas import ContentEvent
from app.memory.generation.services.turns import turn_of

_DIGEST_BYTES = 16


@dataclass(frozen=True)
class Place:
    """A source, and the number that each event of a generation has in it."""

    source: str
    positions: Sequence[int]


@dataclass(frozen=True)
class Provenance:
    """Tells the columns of a memory by the event that it rests on.

    Attributes:
        place: where the events stand; None for given facts, which stand nowhere.
        now: when what has no time was said.
    """

    events: Sequence[ContentEvent]
    place: Place | None
    now: datetime

    def of(self, turn: int | None) -> dict[str, Any]:
        """Return the columns; `turn` is the last that the memory rests on, None: on none."""
        if turn is None:
            return {}
        if self.place is None:
            return {"source": None, "position": None, "event_time": self.now}
        return {
            "source": self.place.source,
            "position": float(self.place.positions[turn]),
            "event_time": self.events[turn].event_time or self.now,
        }


def place_of(scope: Mapping[str, str], events: Sequence[ContentEvent]) -> Place:
    """Return the place of a conversation that has no name."""
    said = [(one.event_id, str(one.event_time), *_spoken(one)) for one in events]
    source = digest("conversation", sorted(scope.items()), said)
    return Place(source, range(1, len(events) + 1))


def _spoken(event: ContentEvent) -> tuple[str, str]:
    turn = turn_of(event)
    return turn.role, turn.text


def digest(*values: object) -> str:
    """Return the name of a source that has none: what is said in it cannot be told from it."""
    written = json.dumps(values).encode()
    return hashlib.blake2b(written, digest_size=_DIGEST_BYTES).hexdigest()
