"""Reads of a request: whether a standby may answer them, and how old what it told is.

Jobs and ticks have no request: they read the primary alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta


@dataclass
class Reads:
    """The reads of one request.

    Attributes:
        age: the greatest age of what a standby has answered; None: it was not asked.
    """

    age: timedelta | None = None
    _is_open: bool = field(default=True, init=False)

    def note(self, age: timedelta) -> None:
        """Note that a standby has answered a read."""
        # A look-up that several requests share may outlast the reads of the one that began it.
        if self._is_open:
            self.age = age if self.age is None else max(age, self.age)

    def close(self) -> None:
        """Forget the age: the answer does not rest on the standby."""
        self._is_open = False
        self.age = None


_reads: ContextVar[Reads | None] = ContextVar("reads", default=None)


@contextmanager
def reads_of_request() -> Iterator[Reads]:
    """Allow a standby to answer the reads in the block, which serves a request.

    A request that this one makes within the process tells it the age of what it has read.
    """
    reads, outer = Reads(), _reads.get()
    token = _reads.set(reads)
    try:
        yield reads
    finally:
        _reads.reset(token)
        if outer is not None and reads.age is not None:
            outer.note(reads.age)


def read_primary_only() -> None:
    """Have the rest of the request read the primary alone."""
    reads = _reads.get()
    if reads is not None:
        reads.close()
    _reads.set(None)


def current_reads() -> Reads | None:
    """Return the reads of the request if a standby may answer them; None: it may not."""
    return _reads.get()
