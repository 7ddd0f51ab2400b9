"""The circuit breaker of a provider."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.kernel.errors import Reason, Unavailable


class Breaker:
    """A circuit breaker that opens after a number of failures in a row, and later admits a trial.

    Times are seconds of the event loop's clock. While the breaker is open only the trial counts:
    earlier requests tell only about the past.
    """

    def __init__(self, failures: int, seconds: float) -> None:
        self._failures = failures
        self._seconds = seconds
        self._failed = 0
        self._cause = ""
        self._pause_end = 0.0
        self._trial = asyncio.Lock()
        """Held by the trial; those that wait for it look again at the breaker afterwards."""

    def is_open(self) -> bool:
        """Return True while the provider is spared."""
        return self._failed >= self._failures

    @asynccontextmanager
    async def admitted(self, limit: float) -> AsyncIterator[bool]:
        """Wait until a request may be made in the block; yield True if it is the trial.

        Raises:
            Unavailable: that is not before `limit`.
        """
        while self.is_open():
            if self._pause_end >= limit:
                raise self._refusal()
            await asyncio.sleep(self._pause_end - now())
            try:
                async with asyncio.timeout_at(limit):
                    await self._trial.acquire()
            except TimeoutError:
                raise self._refusal() from None
            try:
                if self.is_open() and self._pause_end <= now():
                    yield True
                    return
            finally:
                self._trial.release()
        yield False

    def succeeded(self, *, is_trial: bool) -> None:
        """Count an answer of the provider, of any kind."""
        if is_trial or not self.is_open():
            self._failed = 0

    def failed(self, cause: str, *, is_trial: bool) -> None:
        """Count a failure of the provider; the cause of the first in a row is told to others."""
        if is_trial or not self.is_open():
            self._cause = self._cause if self._failed else cause
            self._failed += 1
            self._pause_end = now() + self._seconds

    def _refusal(self) -> Unavailable:
        seconds = max(round(self._pause_end - now(), 1), 1)
        unit = "second" if seconds == 1 else "seconds"
        return Unavailable(
            f"{self._cause} Requests to the provider are paused for {seconds:g} {unit}.",
            Reason.MODEL_UNAVAILABLE,
            retry_after_seconds=seconds,
        )


def now() -> float:
    """Return the time of the event loop, in seconds."""
    return asyncio.get_running_loop().time()
