"""How late the event loop is: what holds it up holds up every request of its process.

It is looked at on a fixed grid of moments. What was due at a moment and runs later is late by the
difference, and so is every further moment that passed meanwhile: the histograms tell of time, not
of the looks that were taken.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Self

import structlog
from prometheus_client import Histogram

log = structlog.get_logger()

_INTERVAL_SECONDS = 0.05
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_MAX_MOMENTS = 200
"""Told of one delay: a machine that has slept for a night has not been late for all of it."""
_LOGGED_SECONDS = 1.0
_SCHEDSTAT = "/proc/thread-self/schedstat"

LAG = Histogram(
    "memory_bank_event_loop_lag_seconds",
    "How late the event loop was at moments 50 ms apart.",
    buckets=_BUCKETS,
)
STALL = Histogram(
    "memory_bank_event_loop_stall_seconds",
    "The same, without what the event loop's thread waited for a processor that others had.",
    buckets=_BUCKETS,
)


@dataclass
class LagWatch:
    """Notes delays.

    Attributes:
        due: when the next look is due; in seconds, as all here, of any steady clock.
        waited: how long the thread has waited for a processor, in all, at the last look.
    """

    due: float
    waited: float

    def look(self, now: float, waited: float) -> float:
        """Note how late a look is that is taken now; return when the next one is due."""
        gained, self.waited = waited - self.waited, waited
        if now - self.due >= _LOGGED_SECONDS:
            log.warning("event_loop.late", seconds=round(now - self.due, 3))
        for late in self._moments(now):
            LAG.observe(late)
            STALL.observe(max(0.0, late - gained))
        return self.due

    def _moments(self, now: float) -> Iterator[float]:
        """Yield how late it is for each moment that was due; go on to the next that is not."""
        for _ in range(_MAX_MOMENTS):
            if self.due > now:
                return
            yield now - self.due
            self.due += _INTERVAL_SECONDS
        self.due = now + _INTERVAL_SECONDS


@asynccontextmanager
async def watched() -> AsyncIterator[None]:
    """Watch the event loop while the block runs."""
    watching = asyncio.create_task(_watch())
    try:
        yield
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


async def _watch() -> None:
    with _Processor() as processor:
        # Not the loop's own clock: some loops read it once a turn.
        watch = LagWatch(perf_counter() + _INTERVAL_SECONDS, processor.waited())
        due = watch.due
        while True:
            await asyncio.sleep(max(0.0, due - perf_counter()))
            now = perf_counter()
            due = watch.look(now, processor.waited()) if now >= due else due


class _Processor:
    """Tells how long this thread has waited for a processor, where the system says so."""

    def __init__(self) -> None:
        self._file: int | None = None

    def __enter__(self) -> Self:
        with suppress(OSError):
            self._file = os.open(_SCHEDSTAT, os.O_RDONLY)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            os.close(self._file)

    def waited(self) -> float:
        """Return seconds since the thread was made; 0 where it is not told."""
        if self._file is None:
            return 0.0
        return int(os.pread(self._file, 128, 0).split()[1]) / 1e9
