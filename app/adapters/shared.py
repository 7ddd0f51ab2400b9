"""Work that everyone who asks for it meanwhile waits for together."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Generic, TypeVar

_V = TypeVar("_V")


class Shared(Generic[_V]):
    """A piece of work that is done once for all who ask while it is under way."""

    def __init__(self, work: Callable[[], Coroutine[None, None, _V]]) -> None:
        self._work = work
        self._task: asyncio.Task[_V] | None = None

    async def result(self) -> _V:
        """Return what the work comes to that is under way, or that is started now.

        It never returns at once: work that has ended is nobody's any more, so that a caller who
        asks again and again leaves their turns to others.
        """
        # A task that was cancelled before its first turn could not take itself away.
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
            self._task.add_done_callback(look_at)
        # Who waits beside it must not lose it when this one is broken off.
        return await asyncio.shield(self._task)

    async def _run(self) -> _V:
        try:
            return await self._work()
        finally:
            # Here, not in a callback: that would come one turn later, and until then the task
            # would be handed out though it has ended.
            self._task = None


def look_at(done: "asyncio.Future[_V]") -> None:
    """Take note of a failure that nobody waits for any more: it is no fault of the process."""
    if not done.cancelled():
        done.exception()
