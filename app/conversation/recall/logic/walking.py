"""The way through the sessions of a user, from the newest event back (pure).

Sessions come by their creation, newest first, each from its newest event back. So events that are
appended meanwhile lie behind, and each earlier one is read once, however often the way is
interrupted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime


@dataclass(frozen=True)
class SessionPlace:
    """A place on the way: the events of a session up to `seq`, and all older sessions, follow."""

    create_time: datetime
    session_id: str
    seq: int


@dataclass(frozen=True)
class SessionStretch:
    """Events of a session to read, the first and the last."""

    create_time: datetime
    session_id: str
    first_seq: int
    last_seq: int

    @property
    def place(self) -> SessionPlace:
        """The place at which it begins."""
        return SessionPlace(self.create_time, self.session_id, self.last_seq)


@dataclass
class SessionWalk:
    """Stretches that are still to be read, in order.

    Attributes:
        end: the place after all that is known so far; None: nothing is known yet.
        is_all: whether no session follows.
    """

    end: SessionPlace | None = None
    is_all: bool = False
    _waiting: list[SessionStretch] = field(default_factory=list)

    @property
    def place(self) -> SessionPlace | None:
        """The place at which the way goes on; None: at its very beginning, or nothing is left."""
        if self._waiting:
            return self._waiting[0].place
        return None if self.is_all else self.end

    @property
    def is_over(self) -> bool:
        """True if nothing is left to read."""
        return self.is_all and not self._waiting

    @property
    def needs_more(self) -> bool:
        """True if sessions must be listed before there is anything to read."""
        return not self.is_all and not self._waiting

    def extend(self, stretches: Sequence[SessionStretch], *, is_all: bool) -> None:
        """Add the sessions from `end` on, whole; the first one may be that of `end` itself."""
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
        """Take the next stretches with at most so many events; a long one is divided."""
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
        """Put back what follows an event in stretches that were taken."""
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
