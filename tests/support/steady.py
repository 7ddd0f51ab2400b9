"""Time for the event loop that stands still while the process does."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.adapters.concurrency import in_background

_MOST_SECONDS = 0.02
_TICK_SECONDS = 0.005


@asynccontextmanager
async def steady_time() -> AsyncIterator[None]:
    """Let timers of the event loop run by a clock to which a pause of the process is no time.

    Beside load, a process may wait for a processor longer than the times that tests set; to a
    client and a server in one process that would be the other's delay.
    """
    loop = asyncio.get_running_loop()
    seen = now = time.monotonic()

    def steady() -> float:
        nonlocal seen, now
        before, seen = seen, time.monotonic()
        now += min(seen - before, _MOST_SECONDS)
        return now

    async def tick() -> None:
        # So that the loop never sleeps for longer than counts.
        while True:  # noqa: ASYNC110 - nothing happens but time
            await asyncio.sleep(_TICK_SECONDS)

    loop.time = steady  # type: ignore[method-assign]  # until the end of the block
    try:
        async with in_background(tick()):
            yield
    finally:
        del loop.time
