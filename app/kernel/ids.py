"""Ids made by the server, and the buckets of scopes that they carry.

An id has 18 decimal digits, ordered by time: the milliseconds of its creation, a number from 0 to
96, and the bucket. A bucket is one of 1,024 parts of an engine: the first bits of a scope's digest.
Older ids, and ids from clients or archives, carry no bucket: see `ids_carry_buckets_from`.
"""

import hashlib
import json
import random
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeVar

NO_BUCKET = 0
"""The bucket of rows that belong to an engine or to the service, not to a single scope."""
BUCKETS = 1024
_DIGITS = 18
# 13 digits of milliseconds leave 5 of 18; the id also fits in a signed 64-bit integer.
_PER_MILLISECOND = 100_000
_NUMBERS = _PER_MILLISECOND // BUCKETS
Id = TypeVar("Id", int, str)
_BUCKET_BITS = 10


class IdMaker:
    """A generator of ids that only grow within a process, in all buckets.

    Each millisecond begins at a random number to make clashes between processes rare. A burst uses
    numbers of the next milliseconds.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0
        """The last number of all milliseconds, counting 97 in each."""

    def next(self, moment: int, bucket: int) -> int:
        """Return a new id for a time in milliseconds."""
        first = moment * _NUMBERS
        with self._lock:
            if self._last < first:
                # The number need not be secret, and a system call would cost as much as the rest.
                self._last = first + int(random.random() * _NUMBERS)  # noqa: S311 - as above
            else:
                self._last += 1
            milliseconds, within = divmod(self._last, _NUMBERS)
        return milliseconds * _PER_MILLISECOND + within * BUCKETS + bucket


_maker = IdMaker()


def new_id(now: datetime, bucket: int) -> int:
    """Return a new id for the time `now`: a decimal int64 of 18 digits that carries a bucket."""
    return _maker.next(int(now.timestamp() * 1000), bucket)


def draw_again(taken: Id, draws: int) -> Id:
    """Return a new id with the prefix and the bucket of one that another process has also drawn."""
    # The new id lies some milliseconds later, twice as many after each draw: the other process
    # may have drawn thousands at once.
    text = str(taken)
    prefix, made = text[:-_DIGITS], int(text[-_DIGITS:])
    number = _maker.next(made // _PER_MILLISECOND + 2**draws, bucket_of(made))
    return type(taken)(f"{prefix}{number}")


def bucket_of(made: int) -> int:
    """Return the bucket that an id made by the server carries."""
    return made % _PER_MILLISECOND % BUCKETS


def canonical(scope: Mapping[str, str]) -> bytes:
    """Return the canonical text of a scope, independent of the order of its pairs."""
    return json.dumps(scope, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def scope_hash(scope: Mapping[str, str]) -> bytes:
    """Return the digest that identifies a scope in the database."""
    return hashlib.sha256(canonical(scope)).digest()


def bucket_of_hash(digest: bytes) -> int:
    """Return the bucket of a scope with this digest: its first ten bits."""
    return int.from_bytes(digest[:2]) >> (16 - _BUCKET_BITS)


def bucket_of_user(user_id: str) -> int:
    """Return the bucket of a user's sessions."""
    return bucket_of_hash(scope_hash({"user_id": user_id}))


def bucket_of_scopes(scopes: Mapping[str, Sequence[str]] | None) -> int:
    """Return the bucket of the only scope that the work concerns, or `NO_BUCKET` for several."""
    if not scopes or any(len(values) != 1 for values in scopes.values()):
        return NO_BUCKET
    return bucket_of_hash(scope_hash({key: values[0] for key, values in scopes.items()}))
