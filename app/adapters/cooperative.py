"""Long synchronous work that yields to the event loop at intervals."""

import asyncio
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import TypeVar

_TURN_SECONDS = 0.001
"""As short as a small request: whoever waits behind several turns waits a few milliseconds."""

In = TypeVar("In")
Out = TypeVar("Out")


async def each(items: Iterable[In], work: Callable[[In], Out]) -> list[Out]:
    """Return `work(item)` of each item, yielding to the event loop first and every millisecond."""
    results: list[Out] = []
    ends = 0.0
    for item in items:
        if perf_counter() >= ends:
            await asyncio.sleep(0)
            ends = perf_counter() + _TURN_SECONDS
        results.append(work(item))
    return results
