"""Statements over all shards of a distributed database, which wait for its slowest node."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from app.adapters.db.errors import unavailable
from app.adapters.db.nodes import working_for
from app.adapters.shared import look_at

PLACES = 2
"""Most concurrent statements; a node that hangs occupies no more connections."""
SECONDS = 2.0
"""Time limit for each statement, including its wait for a place."""

_V = TypeVar("_V")


class AllShards:
    """The limit for concurrent statements over all shards in one process."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(PLACES)
        self._running: set[asyncio.Task[Any]] = set()

    async def run(self, work: Callable[[], Awaitable[_V]]) -> _V:
        """Return the result of work that takes one place.

        Raises:
            Unavailable: a node does not answer in time.
        """
        with working_for(None):
            task = asyncio.create_task(self._placed(work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        task.add_done_callback(look_at)
        try:
            await asyncio.wait({task}, timeout=SECONDS)
        finally:
            # Not awaited: a node that hangs does not take the driver's cancellation, for which it
            # waits ten seconds. Until then the place and the connection stay occupied.
            task.cancel()
        if not task.done():
            raise unavailable()
        return task.result()

    async def _placed(self, work: Callable[[], Awaitable[_V]]) -> _V:
        async with self._places:
            return await work()
