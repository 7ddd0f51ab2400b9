"""Reads of a request: permission to use a standby, and the bytes that it holds for its answer.

Jobs and ticks have no request, read only the primary, and hold nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta


@dataclass
class Reads:
    """The reads of one request; `age` is the greatest age of data from a standby, if any."""

    age: timedelta | None = None
    _is_open: bool = field(default=True, init=False)

    def note(self, age: timedelta) -> None:
        """Record a read from a standby, by the age of its data."""
        # A look-up shared by several requests may outlast the reads of the request that started it.
        if self._is_open:
            self.age = age if self.age is None else max(age, self.age)

    def close(self) -> None:
        """Discard the age: the answer uses no data of the standby."""
        self._is_open = False
        self.age = None


_reads: ContextVar[Reads | None] = ContextVar("reads", default=None)


@contextmanager
def reads_of_request() -> Iterator[Reads]:
    """Allow a standby to answer the reads of the block, which serves a request."""
    # A nested request within the process passes the age of its reads on to the outer request.
    reads, outer = Reads(), _reads.get()
    token = _reads.set(reads)
    try:
        yield reads
    finally:
        _reads.reset(token)
        if outer is not None and reads.age is not None:
            outer.note(reads.age)


def read_primary_only() -> None:
    """Restrict the rest of the request to the primary."""
    reads = _reads.get()
    if reads is not None:
        reads.close()
    _reads.set(None)


def current_reads() -> Reads | None:
    """Return the reads of the request, or None if a standby must not answer them."""
    return _reads.get()


class HeldAnswer(ABC):
    """The answer of one request, counted against the limits on bodies."""

    size: int

    @abstractmethod
    def keep(self, size: int) -> None:
        """Count `size` bytes in all until the answer is sent."""


_held: ContextVar[HeldAnswer | None] = ContextVar("held", default=None)


@contextmanager
def answering(held: HeldAnswer) -> Iterator[None]:
    """Count the bytes read in the block for an answer."""
    token = _held.set(held)
    try:
        yield
    finally:
        _held.reset(token)


def held_answer() -> HeldAnswer | None:
    """Return the answer of the current request; None for jobs and ticks."""
    return _held.get()


def hold(size: int) -> None:
    """Count bytes read for the answer, if there is one.

    Raises:
        ResourceExhausted: the key or the process already holds too many.
    """
    held = _held.get()
    if held is not None:
        held.keep(held.size + size)
