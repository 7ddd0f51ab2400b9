"""Log lines that come as often as requests fail, of which one a minute is written."""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

_PAUSE_SECONDS = 60.0
"""Pause between two lines of the same kind."""


@dataclass
class _LastLine:
    """The last line of a kind, and the occurrences since."""

    at: float
    left_out: int = 0


class RareLines:
    """The lines that one part of a process writes rarely, by their kinds, which are few."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._last: dict[Hashable, _LastLine] = {}

    def due(self, kind: Hashable) -> int | None:
        """Return how many lines of a kind were left out before this one; None: leave it out."""
        now = self._monotonic()
        last = self._last.get(kind)
        if last is not None and now - last.at < _PAUSE_SECONDS:
            last.left_out += 1
            return None
        self._last[kind] = _LastLine(now)
        return 0 if last is None else last.left_out
