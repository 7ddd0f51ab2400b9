"""Iteration over the events of a user's sessions, newest first (pure).

Sessions are ordered by creation time, newest first, and so are the events of each session. Events
appended during the iteration are not visited. Every earlier event is read exactly once, even if
the iteration is interrupted and resumed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime


@dataclass(frozen=True)
class SessionPlace:
    """A position: the session's events up to `seq` are next, followed by all older sessions."""

    create_time: datetime
    session_id: str
    seq: int


@dataclass(frozen=True)
class SessionStretch:
    """Range of a session's events to read; both ends are included."""

    create_time: datetime
    session_id: str
    first_seq: int
    last_seq: int

    @property
    def place(self) -> SessionPlace:
        """Position of the first event to read, which is the newest."""
        return SessionPlace(self.create_time, self.session_id, self.last_seq)


@dataclass
class SessionWalk:
    """Queue of event ranges to read, in order.

    Attributes:
        end: position after the last session listed so far; None at the start.
        is_all: whether all sessions have been listed.
    """

    end: SessionPlace | None = None
    is_all: bool = False
    _waiting: list[SessionStretch] = field(default_factory=list)

    @property
    def place(self) -> SessionPlace | None:
        """Position at which to resume; None at the start and at the end."""
        if self._waiting:
            return self._waiting[0].place
        return None if self.is_all else self.end

    @property
    def is_over(self) -> bool:
        """True if all events have been taken."""
        return self.is_all and not self._waiting

    @property
    def needs_more(self) -> bool:
        """True if more sessions must be listed before events can be taken."""
        return not self.is_all and not self._waiting

    def extend(self, stretches: Sequence[SessionStretch], *, is_all: bool) -> None:
        """Add the sessions from `end` on; of the session of `end` only the events up to it."""
        for stretch in stretches:
            last_seq = stretch.last_seq
            if self.end is not None and stretch.session_id == self.end.session_id:
                last_seq = min(last_seq, self.end.seq)
            if last_seq >= stretch.first_seq:
                self._waiting.append(replace(stretch, last_seq=last_seq))
        if stretches:
            last = stretches[-1]
            self.end = SessionPlace(last.create_time, last.session_id, 0)
        self.is_all = is_all

    def take(self, most: int) -> list[SessionStretch]:
        """Remove and return the next ranges, with at most `most` events; a long range is split."""
        taken: list[SessionStretch] = []
        while self._waiting and most > 0:
            next_one = self._waiting.pop(0)
            first = max(next_one.first_seq, next_one.last_seq - most + 1)
            taken.append(replace(next_one, first_seq=first))
            most -= next_one.last_seq - first + 1
            if first > next_one.first_seq:
                self._waiting.insert(0, replace(next_one, last_seq=first - 1))
        return taken

    def put_back(self, taken: Iterable[SessionStretch], session_id: str, last_read: int) -> None:
        """Put back the ranges taken but not read: all that follow event `last_read`."""
        rest: list[SessionStretch] = []
        is_after = False
        for stretch in taken:
            if is_after:
                rest.append(stretch)
            elif stretch.session_id == session_id:
                is_after = True
                if last_read > stretch.first_seq:
                    rest.append(replace(stretch, last_seq=last_read - 1))
        self._waiting[:0] = rest
