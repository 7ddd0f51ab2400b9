"""Measurement of the event loop's lag, which delays every request of its process.

The lag of a point on a fixed grid of times is the time from it to the next sample. So the
histograms are weighted by time, not by the number of samples.
"""

import asyncio
import math
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import structlog
from prometheus_client import Counter, Histogram

from app.adapters.concurrency import in_background

log = structlog.get_logger()

_INTERVAL_SECONDS = 0.1
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_MAX_MOMENTS = 200
"""Most samples recorded for one delay; otherwise a machine's sleep would count as hours of lag."""
_LOGGED_SECONDS = 1.0
_RECENT_SECONDS = 60.0
_SCHEDSTAT = "/proc/thread-self/schedstat"

LAG = Histogram(
    "memory_bank_event_loop_lag_seconds",
    "Lag of the event loop at moments 100 ms apart.",
    buckets=_BUCKETS,
)
STALL = Histogram(
    "memory_bank_event_loop_stall_seconds",
    "Lag of the event loop without the time for which its thread waited for a CPU.",
    buckets=_BUCKETS,
)

_STALLS = Counter(
    "memory_bank_loop_stalls_total",
    "Times that the event loop was blocked for a second or more.",
)
_RECENT: deque[float] = deque(maxlen=round(_RECENT_SECONDS / _INTERVAL_SECONDS))


class RecentLag(NamedTuple):
    """The lag of this process's event loop within the last minute, in seconds."""

    p50: float
    p99: float


def recent_lag() -> RecentLag | None:
    """Return the recent lag; None: this process does not measure it."""
    lags = sorted(_RECENT)
    if not lags:
        return None
    return RecentLag(*(lags[math.ceil(part * len(lags)) - 1] for part in (0.5, 0.99)))


@dataclass
class LagWatch:
    """The state of the lag measurement, in seconds; `waited` is the wait for a processor."""

    due: float
    waited: float

    def look(self, now: float, waited: float) -> float:
        """Record the lag of a sample taken now; return when the next one is due."""
        gained, self.waited = waited - self.waited, waited
        if now - self.due >= _LOGGED_SECONDS:
            log.warning("event_loop.late", seconds=round(now - self.due, 3))
        if now - self.due - gained >= _LOGGED_SECONDS:
            _STALLS.inc()
        for late in self._moments(now):
            LAG.observe(late)
            _RECENT.append(late)
            STALL.observe(max(0.0, late - gained))
        return self.due

    def _moments(self, now: float) -> Iterator[float]:
        """Yield the lag of each grid point that has passed, and advance to the next one."""
        for _ in range(_MAX_MOMENTS):
            if self.due > now:
                return
            yield now - self.due
            self.due += _INTERVAL_SECONDS
        self.due = now + _INTERVAL_SECONDS


@asynccontextmanager
async def watched() -> AsyncIterator[None]:
    """Measure the lag of the event loop while the block runs."""
    async with in_background(_watch()):
        yield


async def _watch() -> None:
    with _processor_waits() as waited:
        # Not the loop's own clock: some loops read it only once per iteration.
        watch = LagWatch(perf_counter() + _INTERVAL_SECONDS, waited())
        due = watch.due
        while True:
            await asyncio.sleep(max(0.0, due - perf_counter()))
            now = perf_counter()
            due = watch.look(now, waited()) if now >= due else due


@contextmanager
def _processor_waits() -> Iterator[Callable[[], float]]:
    """Yield a function that returns the seconds this thread has waited for a processor, or 0."""
    try:
        file = os.open(_SCHEDSTAT, os.O_RDONLY)
    except OSError:
        yield lambda: 0.0
        return
    try:
        yield lambda: int(os.pread(file, 128, 0).split()[1]) / 1e9
    finally:
        os.close(file)
