"""Recognition of lines that a generation of the scope has read before.

Clients send conversations again: whole after each turn, as a window, or in a retry. A user's line
that was read is context; it creates, changes, deletes and forgets nothing a second time. The
digests of lines contain no engine's id, so an archive can move them elsewhere.
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

_DIGEST_BYTES = 16
_LEAST_LEFT = 0.9
"""Part of its lifetime that a known digest must have left; otherwise it is written again."""
_EXACT, _ALONE = timedelta(days=90), timedelta(days=1)
"""Lifetimes of the digest of a line, and of the digest of its text alone."""
_BEFORE = 2
"""Number of preceding users' lines that, with its text, identify a line without id and time."""


class LineStanding(Enum):
    """The relation of a user's line to the lines that were read before."""

    NEW = auto()
    KNOWN = auto()
    PERHAPS = auto()
    """The text was read recently: a retry, or an intended repetition."""


@dataclass(frozen=True)
class SaidLine:
    """A user's line in a request or a session; `text` has its words and a digest of its files.

    `session` is the session and its creation time, if the line is an event of a session.
    """

    turn: int
    text: str
    session: str | None = None
    event_id: str | None = None
    event_time: datetime | None = None

    @property
    def is_named(self) -> bool:
        """True if a session, an id or a time distinguishes the line from others with its words."""
        return any(name is not None for name in (self.session, self.event_id, self.event_time))


@dataclass(frozen=True)
class LineReader:
    """The parts of a generation that decide whether a line has a result.

    Attributes:
        allowed: the topics that the request allows; callers read a conversation once per group.
        skill: the model, the version of the prompts, and the topics of the engine.
    """

    allowed: tuple[str, ...]
    skill: tuple[str, ...]


@dataclass(frozen=True)
class _Digests:
    """Digests of one line.

    Attributes:
        exact: digest of a line that had a result; None if only neighbouring lines identify it.
        empty: digest of a line that had no result, for the same reader.
        alone: digest of the text alone, if the line has no id, time or session.
    """

    exact: bytes | None
    empty: bytes | None
    alone: bytes | None

    def all(self) -> set[bytes]:
        digests = (self.exact, self.empty, self.alone)
        return {digest for digest in digests if digest is not None}

    def are_known(self, known: Collection[bytes]) -> bool:
        return self.exact is not None and not {self.exact, self.empty}.isdisjoint(known)


class Rereading:
    """The lines of one generation, compared with the lines that were read before.

    `overlap` has the events that a stream sends again and knows to be read.
    """

    def __init__(
        self, lines: Sequence[SaidLine], reader: LineReader, overlap: Collection[int] = ()
    ) -> None:
        self._lines = lines
        self._overlap = overlap
        self._digests = [self._digests_of(place, reader) for place in range(len(lines))]

    def wanted(self) -> set[bytes]:
        """Return the digests to look up among the stored ones."""
        return {digest for digests in self._digests for digest in digests.all()}

    def standings(self, known: Collection[bytes]) -> dict[int, LineStanding]:
        """Return the standing of each line, by the position of its event."""
        are_known = [
            line.turn in self._overlap or digests.are_known(known)
            for line, digests in zip(self._lines, self._digests, strict=True)
        ]
        for place, line in enumerate(self._lines):
            if are_known[place] and not line.is_named and place >= _BEFORE:
                # The line is recognised together with the two before it, if they are unnamed.
                for earlier in range(place - _BEFORE, place):
                    are_known[earlier] |= not self._lines[earlier].is_named
        last = max((place for place, is_known in enumerate(are_known) if is_known), default=None)
        return {
            line.turn: LineStanding.KNOWN if is_known else self._unknown(place, last, known)
            for place, (line, is_known) in enumerate(zip(self._lines, are_known, strict=True))
        }

    def _unknown(self, place: int, last: int | None, known: Collection[bytes]) -> LineStanding:
        # A line after a known line is new, even if it repeats an earlier text.
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
        now: datetime,
    ) -> Mapping[bytes, datetime]:
        """Return the digests to store after a generation at `now`, with their expiry times.

        `turns` are the positions of the lines that this generation read, `left` of the lines that
        created or changed a memory. Digests in `known` of repeated lines are renewed only after a
        tenth of their lifetime, since some clients send a whole session after each turn.
        """
        ends: dict[bytes, datetime] = {}
        lasting = now + _EXACT * _LEAST_LEFT
        for line, digests in zip(self._lines, self._digests, strict=True):
            written = {
                digest
                for digest in (digests.exact, digests.empty)
                if digest is not None and known.get(digest, lasting) < lasting
            }
            digest = digests.exact if line.turn in left else digests.empty
            if line.turn in turns and digest is not None:
                written.add(digest)
            ends |= dict.fromkeys(written, now + _EXACT)
            if line.turn in turns and line.turn in left and digests.alone is not None:
                ends[digests.alone] = now + _ALONE
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
            exact = ("after", *(line.text for line in self._lines[place - _BEFORE : place + 1]))
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
