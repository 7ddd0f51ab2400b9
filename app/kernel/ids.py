"""Ids made by the server: 18 decimal digits, ordered by time, that carry a bucket.

A bucket is one of 1,024 parts of an engine; see `app.kernel.scopes`. An id is the milliseconds of
its making, a number from 0 to 96, and the bucket. Ids from before, and those that clients choose or
archives bring, carry nothing: the table `ids_carry_buckets_from` says since when ids do.
"""

import random
import threading
import time
from collections.abc import Callable
from datetime import datetime

NO_BUCKET = 0
"""The bucket of what belongs to no single scope: to an engine, or to the service."""
BUCKETS = 1024
# 13 digits of milliseconds leave 5 of 18; the id also fits in a signed 64-bit integer.
_PER_MILLISECOND = 100_000
_NUMBERS = _PER_MILLISECOND // BUCKETS
_AHEAD_MILLISECONDS = 50
_NANOSECONDS = 1_000_000


class IdMaker:
    """A generator of ids that only grow within a process, whatever their buckets.

    Each millisecond begins at a random number, so that two processes rarely make the same id. A
    burst borrows from the next milliseconds. 50 ms ahead of the clock it waits, 0.01 ms an id:
    making what the ids are for takes longer, so that only a loop which does nothing else meets it.

    Args:
        elapsed: returns nanoseconds of a clock that nobody sets.
        sleep: waits for seconds.
    """

    def __init__(
        self,
        elapsed: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._elapsed = elapsed
        self._sleep = sleep
        self._lock = threading.Lock()
        self._last = 0
        """The last number of all milliseconds: 97 in each."""
        self._start = 0
        """The latest reading of the clock, less the milliseconds elapsed by then."""

    def next(self, moment: int, bucket: int) -> int:
        """Return a new id for a time in milliseconds."""
        first = moment * _NUMBERS
        with self._lock:
            self._start = max(self._start, moment - self._elapsed() // _NANOSECONDS)
            if self._last < first:
                # A secret is not needed, and one of the system's would cost as much as all else.
                number = first + int(random.random() * _NUMBERS)  # noqa: S311 - as above
            else:
                number = self._last + 1
                self._wait_for(number // _NUMBERS - _AHEAD_MILLISECONDS)
            self._last = number
        milliseconds, within = divmod(number, _NUMBERS)
        return milliseconds * _PER_MILLISECOND + within * BUCKETS + bucket

    def another(self, taken: int) -> int:
        """Return a new id for the present, with the bucket of one that is taken.

        The next one may be taken as well, if another process has made thousands at once.
        """
        present = self._start + self._elapsed() // _NANOSECONDS
        return self.next(max(present, taken // _PER_MILLISECOND), bucket_of(taken))

    def _wait_for(self, moment: int) -> None:
        """Wait until the clock reaches a moment.

        The clock goes on from its latest reading, since `now` may be older than the last id.
        """
        while (left := (moment - self._start) * _NANOSECONDS - self._elapsed()) > 0:
            self._sleep(left / 1e9)


_maker = IdMaker()


def new_id(now: datetime, bucket: int) -> int:
    """Return a new id for the time `now`: a decimal int64 of 18 digits that carries a bucket."""
    return _maker.next(int(now.timestamp() * 1000), bucket)


def another_id(taken: int) -> int:
    """Return a new id with the bucket of one that another process has made as well."""
    return _maker.another(taken)


def bucket_of(made: int) -> int:
    """Return the bucket that a made id carries."""
    return made % _PER_MILLISECOND % BUCKETS
