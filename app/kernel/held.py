"""Bytes that requests hold for their answers, from when they are read until they are sent."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class HeldAnswer(ABC):
    """The answer of one request, as it counts against the limits on bodies.

    Attributes:
        size: the bytes that it counts for.
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
    """Count what is read in the block for an answer."""
    token = _held.set(held)
    try:
        yield
    finally:
        _held.reset(token)


def held_answer() -> HeldAnswer | None:
    """Return the answer of the present request; jobs and ticks have none."""
    return _held.get()


def hold(size: int) -> None:
    """Count bytes that are read for the answer, if there is one.

    Raises:
        ResourceExhausted: the key or the process already holds too many.
    """
    held = _held.get()
    if held is not None:
        held.keep(held.size + size)
