"""Conversation of a generation, in the order in which it took place, and its new lines."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Any

from app.kernel.text import clean
from app.kernel.wire.scalars import format_timestamp
from app.language.dates import moment_in
from app.language.facts import Turn
from app.memory.generation.logic.recalled import (
    MemoryRelation,
    RecalledBlock,
    blocks_of,
    without_recalled,
)
from app.memory.generation.logic.rereading import (
    LineReader,
    LineStanding,
    Rereading,
    SaidLine,
)
from app.memory.generation.schemas import ContentEvent
from app.memory.generation.services.turns import TurnToRead, files_of, is_users, turn_of

_DIGEST_BYTES = 16

_CONTEXT_LINES = 8
_CONTEXT_CHARS = 1_200
"""Maximum lines, and their characters, that are repeated as context before a run of new lines."""


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

    `place` is None for given facts; `now` is the time for events without a time.
    """

    times: Sequence[datetime | None]
    place: StreamPlace | None
    now: datetime

    def said_at(self, turn: int) -> datetime:
        """Return the time of a turn, but not later than now."""
        # Otherwise, a client's fast clock would let a statement overrule all later ones.
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


@dataclass(frozen=True)
class Zones:
    """The time zones that days are relative to.

    An event's offset comes between them: it yields to the request's zone, but precedes the bank's.
    """

    request: tzinfo | None = None
    engine: tzinfo | None = None

    @property
    def own(self) -> tzinfo:
        """The zone for events without a usable offset."""
        return self.request or self.engine or UTC

    def localised(self, moment: datetime) -> datetime:
        """Return the time of an event in the zone of its speaker."""
        # Many clients write UTC wherever they are, so an offset of zero is no evidence.
        is_told = self.request is None and bool(moment.utcoffset())
        return moment if is_told else moment_in(self.own, moment)


@dataclass(frozen=True)
class SourceEvents:
    """The events of one source, in its order.

    Attributes:
        now: the time of the request, used for events without a time.
        place: the source, and the number of each event in it; None for given facts.
        session: the session and its creation time, if the source is a session.
    """

    events: Sequence[ContentEvent]
    now: datetime
    place: StreamPlace | None = None
    session: str | None = None

    def time(self, at: int) -> datetime | None:
        """Return the time of an event, or of its arrival in a stream, if known."""
        times = self.place.times if self.place is not None else ()
        return self.events[at].event_time or (times[at] if times else None)

    def in_order(self) -> "SourceEvents":
        """Return the events in the order in which they took place; equal times keep their order."""
        # A user's event without a time gets the time of the request, any other gets the
        # preceding time.
        keys: list[datetime] = []
        for at, event in enumerate(self.events):
            before = keys[-1] if keys and not is_users(event) else self.now
            keys.append(self.time(at) or before)
        order = sorted(range(len(keys)), key=keys.__getitem__)
        place = self.place
        if place is not None:
            times = [place.times[at] for at in order] if place.times else ()
            place = replace(place, positions=[place.positions[at] for at in order], times=times)
        return replace(self, events=[self.events[at] for at in order], place=place)


class ReadConversation:
    """The turns of a generation, and the relation of each to the lines read before.

    Until `compare` is called, every line counts as new and as the user's own.

    Attributes:
        events: in the order in which they took place.
        turns: the words of each event, at the speaker's time.
        recalled: the number of lines that only repeat memories and are not the user's words.
        standings: the standing of each user's line, by the position of its event.
    """

    def __init__(self, source: SourceEvents, zones: Zones, reader: LineReader) -> None:
        self._source = source.in_order()
        self.events = self._source.events
        self.turns = [self._turn(at, zones) for at in range(len(self.events))]
        self.recalled = 0
        times = [turn.time for turn in self.turns]
        now = zones.localised(self._source.now)
        self.provenance = Provenance(times, self._source.place, now)
        self._blocks: dict[int, list[RecalledBlock]] = {
            at: blocks
            for at, event in enumerate(self.events)
            if is_users(event) and (blocks := blocks_of(self.turns[at].text))
        }
        place = self._source.place
        overlap = (
            {at for at, position in enumerate(place.positions) if position in place.again}
            if place is not None
            else ()
        )
        self._rereading = Rereading(list(self._lines()), reader, overlap)
        self._known: Mapping[bytes, datetime] = {}
        self.standings: Mapping[int, LineStanding] = self._rereading.standings(())

    def _turn(self, at: int, zones: Zones) -> Turn:
        moment = self._source.time(at)
        time = None if moment is None else zones.localised(moment)
        return replace(turn_of(self.events[at]), time=time)

    def _lines(self) -> Iterator[SaidLine]:
        for at, event in enumerate(self.events):
            if not is_users(event):
                continue
            words = " ".join(clean(self.turns[at].text).split())
            files = "".join(_digest(file.data or file.uri or "") for file in files_of(event))
            if words or files:
                session = self._source.session
                yield SaidLine(at, words + files, session, event.event_id, event.event_time)

    @property
    def digests(self) -> set[bytes]:
        """Digests that identify its lines if they were read before."""
        return self._rereading.wanted()

    @property
    def entries(self) -> list[str]:
        """Texts of lists and the like in users' turns, which may be memories."""
        blocks = (block for blocks in self._blocks.values() for block in blocks)
        return [text for block in blocks for entry in block.entries for text in entry.spellings]

    def compare(
        self, known: Mapping[bytes, datetime], relation: Callable[[str], MemoryRelation]
    ) -> None:
        """Apply the stored digests, and remove recalled memories from the turns."""
        self._known = known
        self.standings = self._rereading.standings(known)
        for at, blocks in self._blocks.items():
            own, recalled = without_recalled(self.turns[at].text, blocks, relation)
            self.turns[at] = replace(self.turns[at], text=own)
            self.recalled += recalled

    @property
    def known(self) -> int:
        """Number of users' lines that were read before."""
        return sum(standing is LineStanding.KNOWN for standing in self.standings.values())

    def to_read(self) -> list[TurnToRead]:
        """Return the turns to read: the new lines, and some lines before each run of them."""
        if not self.known:
            return [TurnToRead(at, turn) for at, turn in enumerate(self.turns)]
        shown: list[TurnToRead] = []
        last = -1
        for at in self._new():
            between = range(last + 1, at)
            is_same_run = last >= 0 and not any(n in self.standings for n in between)
            before = {n: self.turns[n] for n in between} if is_same_run else self._context(between)
            shown += [TurnToRead(n, before[n], n in self.standings) for n in sorted(before)]
            shown.append(TurnToRead(at, self.turns[at]))
            last = at
        return shown

    def _new(self) -> list[int]:
        return [at for at, standing in self.standings.items() if standing is not LineStanding.KNOWN]

    def _context(self, before: range) -> dict[int, Turn]:
        chosen: dict[int, Turn] = {}
        room = _CONTEXT_CHARS
        for at in reversed(before):
            turn = self.turns[at]
            if chosen and (len(turn.text) > room or len(chosen) == _CONTEXT_LINES):
                break
            if turn.text:
                # The end of the preceding line is always included, as it may be the question.
                chosen[at] = replace(turn, text=turn.text[-room:])
                room -= len(chosen[at].text)
        return chosen

    def read_lines(
        self, left: Collection[int], unread: Collection[int], now: datetime
    ) -> Mapping[bytes, datetime]:
        """Return the digests to store after a generation at `now`, with their expiry times.

        `left` and `unread` are the positions of lines that made a memory, or were left out.
        """
        read = set(self._new()).difference(unread)
        return self._rereading.read(read, left, self._known, now)


def _digest(data: bytes | str) -> str:
    written = data.encode() if isinstance(data, str) else data
    return hashlib.blake2b(written, digest_size=16).hexdigest()
