"""Concurrency: the number of costly requests that run at once in one process."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from app.platform.limits.services.refusals import too_many


class Concurrency:
    """The concurrency slots of one process, bounded per key and in all."""

    def __init__(self, per_key: int, in_all: int) -> None:
        self._per_key = per_key
        self._in_all = in_all
        self._taken = Counter[str]()
        """Slots in use, by key."""
        self._taken_in_all = 0

    @contextmanager
    def occupy(self, key_id: str) -> Iterator[None]:
        """Hold one slot of a key while the block runs.

        Raises:
            ResourceExhausted: no slot is free, of the key or of the process.
        """
        if self._taken[key_id] >= self._per_key:
            raise too_many("key", self._per_key)
        if self._taken_in_all >= self._in_all:
            raise too_many("process", self._in_all)
        self._taken[key_id] += 1
        self._taken_in_all += 1
        try:
            yield
        finally:
            self._taken_in_all -= 1
            self._taken[key_id] -= 1
            if not self._taken[key_id]:
                del self._taken[key_id]
