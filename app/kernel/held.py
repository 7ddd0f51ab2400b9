"""Bytes that requests hold for their answers, from reading until sending."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class HeldAnswer(ABC):
    """The answer of one request, counted against the limits on bodies.

    Attributes:
        size: the number of bytes counted.
    """

    size: int

    @abstractmethod
    def keep(self, size: int) -> None:
        """Count `size` bytes in all until the answer is sent.

        Raises:
            ResourceExhausted: the key or the process already holds too many.
        """


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
