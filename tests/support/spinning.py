"""A guard for tests of what must not turn for ever: they fail, where they would hang."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def no_spinning(seconds: float = 10) -> Iterator[None]:
    """Break the block off, wherever it is, when it takes longer than anything in it can."""

    def break_off(_: int, __: FrameType | None) -> None:
        raise AssertionError(f"It still turned after {seconds} s.")

    before = signal.signal(signal.SIGALRM, break_off)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
