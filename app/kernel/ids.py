"""Ids made by the server: 18 decimal digits, ordered by time, that carry a bucket.

A bucket is one of 1,024 parts of an engine; see `app.kernel.scopes`. An id consists of the
milliseconds of its creation, a number from 0 to 96, and the bucket. Older ids, and ids from clients
or archives, carry no bucket. The table `ids_carry_buckets_from` records since when ids carry one.
"""

import random
import threading
import time
from collections.abc import Callable
from datetime import datetime

NO_BUCKET = 0
"""The bucket of rows that belong to an engine or to the service, not to a single scope."""
BUCKETS = 1024
# 13 digits of milliseconds leave 5 of 18; the id also fits in a signed 64-bit integer.
_PER_MILLISECOND = 100_000
_NUMBERS = _PER_MILLISECOND // BUCKETS
_AHEAD_MILLISECONDS = 50
_NANOSECONDS = 1_000_000


class IdMaker:
    """A generator of ids that only grow within a process, in all buckets.

    Each millisecond begins at a random number to make clashes between processes rare. A burst uses
    numbers of the next milliseconds. When it is 50 ms ahead of the clock, the generator waits 0.01
    ms for each id. Only a loop that creates ids and does no other work reaches this limit.

    Args:
        elapsed: returns the nanoseconds of a monotonic clock.
        sleep: waits for a number of seconds.
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
        """The last number of all milliseconds, counting 97 in each."""
        self._start = 0
        """The latest time read, less the milliseconds elapsed by then."""

    def next(self, moment: int, bucket: int) -> int:
        """Return a new id for a time in milliseconds."""
        first = moment * _NUMBERS
        with self._lock:
            self._start = max(self._start, moment - self._elapsed() // _NANOSECONDS)
            if self._last < first:
                # The number need not be secret, and a system call would cost as much as the rest.
                number = first + int(random.random() * _NUMBERS)  # noqa: S311 - as above
            else:
                number = self._last + 1
                self._wait_for(number // _NUMBERS - _AHEAD_MILLISECONDS)
            self._last = number
        milliseconds, within = divmod(number, _NUMBERS)
        return milliseconds * _PER_MILLISECOND + within * BUCKETS + bucket

    def another(self, taken: int) -> int:
        """Return a new id for the present, with the bucket of an id that is taken.

        The next id may be taken as well, if another process has created thousands at once.
        """
        present = self._start + self._elapsed() // _NANOSECONDS
        return self.next(max(present, taken // _PER_MILLISECOND), bucket_of(taken))

    def _wait_for(self, moment: int) -> None:
        """Wait until the clock reaches a moment.

        The current time is extrapolated from the latest reading, since `now` may be older than the
        last id.
        """
        while (left := (moment - self._start) * _NANOSECONDS - self._elapsed()) > 0:
            self._sleep(left / 1e9)


_maker = IdMaker()


def new_id(now: datetime, bucket: int) -> int:
    """Return a new id for the time `now`: a decimal int64 of 18 digits that carries a bucket."""
    return _maker.next(int(now.timestamp() * 1000), bucket)


def another_id(taken: int) -> int:
    """Return a new id with the bucket of an id that another process has also made."""
    return _maker.another(taken)


def bucket_of(made: int) -> int:
    """Return the bucket that an id made by the server carries."""
    return made % _PER_MILLISECOND % BUCKETS
