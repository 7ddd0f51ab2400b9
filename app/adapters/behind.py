"""Work that runs behind its caller: while a part is written, the next is read."""

import asyncio
from collections.abc import Coroutine
from typing import Any


class WriteBehind:
    """One write at a time, beside the reading of what follows.

    Whoever starts writes calls `settle` in a `finally`, so that none outlives it.
    """

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    @property
    def is_busy(self) -> bool:
        """True while a write runs."""
        return self._task is not None and not self._task.done()

    async def start(self, write: Coroutine[Any, Any, None]) -> None:
        """Start a write once the one before has ended.

        Raises:
            ServiceError: the one before failed; this one is not started.
        """
        try:
            await self.end()
        except BaseException:
            write.close()
            raise
        self._task = asyncio.create_task(write)

    async def end(self) -> None:
        """Wait for the write that runs, if any.

        Raises:
            ServiceError: it failed.
        """
        if self._task is not None:
            await asyncio.wait({self._task})
            # Until the write has ended, a cancellation must still find it and wait for it.
            ended, self._task = self._task, None
            ended.result()

    async def settle(self) -> None:
        """Wait for the write that runs, whether it succeeds or not."""
        if self._task is not None:
            await asyncio.wait({self._task})
            if not self._task.cancelled():
                # Retrieved, so that asyncio does not log it: an earlier failure is reported.
                self._task.exception()
