"""Ids made by the server: 18 decimal digits, ordered by time."""

import secrets
import threading
from datetime import datetime

# 13 digits of milliseconds leave 5 of 18; the id also fits in a signed 64-bit integer.
_PER_MILLISECOND = 100_000
# Steps within a millisecond stay small, so that a burst does not run far ahead of the clock.
_MAX_STEP = 8


class IdMaker:
    """A generator of ids that only grow within a process and rarely clash between processes."""

    def __init__(self) -> None:
        self._last = 0
        self._lock = threading.Lock()

    def next(self, now: datetime) -> int:
        """Return a new id for the time `now`."""
        base = int(now.timestamp() * 1000) * _PER_MILLISECOND
        with self._lock:
            fresh = base + secrets.randbelow(_PER_MILLISECOND)
            self._last = max(fresh, self._last + 1 + secrets.randbelow(_MAX_STEP))
            return self._last


_maker = IdMaker()


def new_id(now: datetime) -> int:
    """Return a new id for the time `now`: a decimal int64 of 18 digits."""
    return _maker.next(now)
