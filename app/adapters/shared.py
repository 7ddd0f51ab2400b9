"""Work that callers share, and work that runs beside a block."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Generic, TypeVar

_V = TypeVar("_V")


class Shared(Generic[_V]):
    """A coroutine that runs once for all callers who ask while it is under way."""

    def __init__(self, work: Callable[[], Coroutine[None, None, _V]]) -> None:
        self._work = work
        self._task: asyncio.Task[_V] | None = None

    async def result(self) -> _V:
        """Return the result of the current run; start one if none is under way.

        It always yields to the event loop: finished work is not handed out again, so a
        caller in a loop leaves time to others.
        """
        # A task that was cancelled before its first step cannot clear itself.
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
            self._task.add_done_callback(look_at)
        # Cancelling one waiter must not cancel the work of the others.
        return await asyncio.shield(self._task)

    async def _run(self) -> _V:
        try:
            return await self._work()
        finally:
            # Here, not in a callback: a callback would run one step later, and the finished task
            # would be handed out until then.
            self._task = None


class SingleFlight(Generic[_V]):
    """Work that callers of equal keys share while it is under way.

    The first caller does it. If that one is cancelled or fails, the next one does it again.
    """

    def __init__(self) -> None:
        self._under_way: dict[bytes, asyncio.Future[_V]] = {}

    async def result(self, key: bytes, work: Callable[[], Awaitable[_V]]) -> _V:
        """Return the result of the work under way for a key, or else of this caller's own."""
        while (first := self._under_way.get(key)) is not None:
            # Unlike awaiting it, this hands on neither its failure nor a cancellation.
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
    """Run work beside the block; cancel it at the end of the block, and wait until it has ended.

    Raises:
        Exception: the work has failed; raised at the end of the block.
    """
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def look_at(done: "asyncio.Future[_V]") -> None:
    """Retrieve a failure that nobody waits for, so that asyncio does not report it."""
    if not done.cancelled():
        done.exception()
