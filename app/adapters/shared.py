"""Work that callers share, and work that runs during a block."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Generic, TypeVar

_V = TypeVar("_V")


class Shared(Generic[_V]):
    """A coroutine that runs once for all callers who await it during the run."""

    def __init__(self, work: Callable[[], Coroutine[None, None, _V]]) -> None:
        self._work = work
        self._task: asyncio.Task[_V] | None = None

    async def result(self) -> _V:
        """Return the result of the current run; start a run if there is none.

        It always yields to the event loop, because finished results are not reused. A caller in a
        loop therefore leaves time to other tasks.
        """
        # A task that was cancelled before its first step cannot clear itself.
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
            self._task.add_done_callback(look_at)
        # Cancelling one waiter must not cancel the work for the others.
        return await asyncio.shield(self._task)

    async def stop(self) -> None:
        """End the current run, if there is one."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> _V:
        try:
            return await self._work()
        finally:
            # Not in a callback, which would run one step later: until then, callers would get the
            # finished task.
            self._task = None


class SingleFlight(Generic[_V]):
    """Work that concurrent callers with equal keys share.

    The first caller does the work. If it is cancelled or fails, the next caller repeats the work.
    """

    def __init__(self) -> None:
        self._under_way: dict[bytes, asyncio.Future[_V]] = {}

    async def result(self, key: bytes, work: Callable[[], Awaitable[_V]]) -> _V:
        """Return the result of the current work for a key; if there is none, do the work."""
        while (first := self._under_way.get(key)) is not None:
            # Unlike `await first`, this propagates neither a failure nor a cancellation.
            await asyncio.wait([first])
            if not first.cancelled():
                return first.result()
        done: asyncio.Future[_V] = asyncio.get_running_loop().create_future()
        self._under_way[key] = done
        try:
            result = await work()
            done.set_result(result)
        finally:
            del self._under_way[key]
            done.cancel()
        return result


@asynccontextmanager
async def beside(work: Coroutine[object, object, object]) -> AsyncIterator[None]:
    """Run work during the block; at its end, cancel the work and wait until it has ended.

    Raises:
        Exception: the work failed; raised at the end of the block.
    """
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def look_at(done: "asyncio.Future[_V]") -> None:
    """Retrieve the exception of a task without waiters; asyncio would log it otherwise."""
    if not done.cancelled():
        done.exception()
