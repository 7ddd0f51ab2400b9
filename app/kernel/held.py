"""Bytes that requests hold for their answers, from when they are read until they are sent."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class HeldAnswer(Protocol):
    """The answer of one request, as it counts against the limits on bodies."""

    def add(self, size: int) -> None:
        """Count further bytes until the answer is sent.

        Raises:
            ResourceExhausted: the key or the process already holds too many.
        """
        ...


_held: ContextVar[HeldAnswer | None] = ContextVar("held", default=None)


@contextmanager
def answering(held: HeldAnswer) -> Iterator[None]:
    """Count what is read in the block for an answer."""
    token = _held.set(held)
    try:
        yield
    finally:
        _held.reset(token)


def hold(size: int) -> None:
    """Count bytes that are about to be read for the answer; jobs and ticks have none.

    Raises:
        ResourceExhausted: the key or the process already holds too many.
    """
    held = _held.get()
    if held is not None:
        held.add(size)
