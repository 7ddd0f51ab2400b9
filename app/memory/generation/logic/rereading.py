"""Recognition of lines that a generation of the scope has read before (pure).

Conversations come again: whole after each turn, as a window, by a retry. A user's line that was
read is context; it creates, changes, deletes and forgets nothing a second time. A line is known by
digests alone, which hold no engine's id, so that an archive can take them to another engine.
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

_DIGEST_BYTES = 16
_LEAST_LEFT = 0.9
"""The part of its time that a known digest must have left, else it is written again."""
_BEFORE = 2
"""Users' lines before one without id and time, by which it is known together with its text."""


class LineStanding(Enum):
    """The relation of a user's line to what was read before."""

    NEW = auto()
    KNOWN = auto()
    PERHAPS = auto()
    """Its text was read lately: a retry, or a repetition on purpose."""


@dataclass(frozen=True)
class SaidLine:
    """A user's line, as a request or a session has it.

    Attributes:
        turn: the position of its event.
        text: its words, with a digest of its files.
        session: the session and its creation time, if it is an event of a session.
        event_id: the id that the sender gave it, if any.
        event_time: the time that the sender gave it, if any.
    """

    turn: int
    text: str
    session: str | None = None
    event_id: str | None = None
    event_time: datetime | None = None

    @property
    def is_named(self) -> bool:
        """True if a session, an id or a time tells it from a line of the same words."""
        return any(name is not None for name in (self.session, self.event_id, self.event_time))


@dataclass(frozen=True)
class LineReader:
    """The parts of a generation on which it depends whether a line leaves anything.

    Attributes:
        allowed: the topics that the request allows; callers read one talk once for each group.
        skill: the model, the version of the prompts, and the topics of the engine.
    """

    allowed: tuple[str, ...]
    skill: tuple[str, ...]


@dataclass(frozen=True)
class _Digests:
    """Digests of one line.

    Attributes:
        exact: of a line that left something; None: it is known only by the lines around it.
        empty: of a line that left nothing, for the same reader.
        alone: of its text alone, if it has no name.
    """

    exact: bytes | None
    empty: bytes | None
    alone: bytes | None


@dataclass(frozen=True)
class Kept:
    """Times for which digests are kept."""

    exact: timedelta
    alone: timedelta


class Rereading:
    """The lines of one generation, compared with those that were read before.

    `overlap` has the events that a stream hands over again, and so knows to be read.
    """

    def __init__(
        self, lines: Sequence[SaidLine], reader: LineReader, overlap: Collection[int] = ()
    ) -> None:
        self._lines = lines
        self._overlap = overlap
        self._digests = [self._digests_of(place, reader) for place in range(len(lines))]

    def wanted(self) -> set[bytes]:
        """Return the digests to look for among those that are kept."""
        return {
            digest
            for line in self._digests
            for digest in (line.exact, line.empty, line.alone)
            if digest is not None
        }

    def standings(self, known: Collection[bytes]) -> dict[int, LineStanding]:
        """Return the standing of each line, by the position of its event."""
        found = [
            line.turn in self._overlap
            or (digests.exact is not None and not {digests.exact, digests.empty}.isdisjoint(known))
            for line, digests in zip(self._lines, self._digests, strict=True)
        ]
        for place, line in enumerate(self._lines):
            if found[place] and not line.is_named and place >= _BEFORE:
                # It is known together with the two before it, which need no name to be known.
                for earlier in range(place - _BEFORE, place):
                    found[earlier] |= not self._lines[earlier].is_named
        last = max((place for place, is_known in enumerate(found) if is_known), default=None)
        return {
            line.turn: LineStanding.KNOWN if is_known else self._unknown(place, last, known)
            for place, (line, is_known) in enumerate(zip(self._lines, found, strict=True))
        }

    def _unknown(self, place: int, last: int | None, known: Collection[bytes]) -> LineStanding:
        # What follows a line that was read is said after it, whatever it repeats.
        may_be_known = last is None or place < last
        return (
            LineStanding.PERHAPS
            if may_be_known and self._digests[place].alone in known
            else (LineStanding.NEW)
        )

    def read(
        self,
        turns: Collection[int],
        left: Collection[int],
        known: Mapping[bytes, datetime],
        kept: Kept,
        now: datetime,
    ) -> Mapping[bytes, datetime]:
        """Return the digests to keep after a generation, with the ends of their times.

        Args:
            turns: the positions of the lines that were read now.
            left: the positions of those that left a memory, or a change of one.
            known: the digests that were kept before, with the ends of their times. The digests of
                lines that came again live on; they are written only once a tenth of their time is
                over, since some clients send a whole session after each turn.
            kept: the times for which digests are kept.
            now: the time of the generation.
        """
        ends: dict[bytes, datetime] = {}
        lasting = now + kept.exact * _LEAST_LEFT
        for line, digests in zip(self._lines, self._digests, strict=True):
            written = {
                digest
                for digest in (digests.exact, digests.empty)
                if digest is not None and known.get(digest, lasting) < lasting
            }
            digest = digests.exact if line.turn in left else digests.empty
            if line.turn in turns and digest is not None:
                written.add(digest)
            ends |= dict.fromkeys(written, now + kept.exact)
            if line.turn in turns and line.turn in left and digests.alone is not None:
                ends[digests.alone] = now + kept.alone
        return ends

    def _digests_of(self, place: int, reader: LineReader) -> _Digests:
        line = self._lines[place]
        alone = None if line.is_named else ("text", line.text)
        exact: tuple[object, ...] | None
        if line.session is not None:
            exact = ("session", line.session, line.event_id)
        elif line.event_id is not None:
            exact = ("id", line.event_id, line.text)
        elif line.event_time is not None:
            exact = ("time", line.event_time.timestamp(), line.text)
        elif place >= _BEFORE:
            exact = ("after", *(one.text for one in self._lines[place - _BEFORE : place + 1]))
        else:
            exact = None
        return _Digests(
            None if exact is None else _digest(exact, reader.allowed),
            None if exact is None else _digest(exact, reader.allowed, reader.skill),
            None if alone is None else _digest(alone, reader.allowed),
        )


def _digest(*parts: object) -> bytes:
    written = json.dumps(parts, default=str).encode()
    return hashlib.blake2b(written, digest_size=_DIGEST_BYTES).digest()
