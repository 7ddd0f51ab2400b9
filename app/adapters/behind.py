"""Writes in the background, while the caller reads the next part."""

import asyncio
from collections.abc import Coroutine
from typing import Any


class WriteBehind:
    """A background task for one write at a time.

    A caller that starts writes must call `settle` in a `finally`; otherwise a write may outlive it.
    """

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    @property
    def is_busy(self) -> bool:
        """True while a write runs."""
        return self._task is not None and not self._task.done()

    async def start(self, write: Coroutine[Any, Any, None]) -> None:
        """Start a write once the previous one has ended.

        Raises:
            ServiceError: the previous write failed; this one is not started.
        """
        try:
            await self.end()
        except BaseException:
            write.close()
            raise
        self._task = asyncio.create_task(write)

    async def end(self) -> None:
        """Wait for the current write, if any.

        Raises:
            ServiceError: the write failed.
        """
        if self._task is not None:
            await asyncio.wait({self._task})
            # Not cleared earlier: after a cancellation, `settle` must still find the write.
            ended, self._task = self._task, None
            ended.result()

    async def settle(self) -> None:
        """Wait for the current write, if any, and ignore its failure."""
        if self._task is not None:
            await asyncio.wait({self._task})
            if not self._task.cancelled():
                # Retrieved because asyncio would log it; the caller reports an earlier failure.
                self._task.exception()
