"""Long synchronous work that yields to the event loop at intervals."""

import asyncio
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import TypeVar

_TURN_SECONDS = 0.001
"""As short as a small request: a task that waits for several turns waits a few milliseconds."""

In = TypeVar("In")
Out = TypeVar("Out")


async def each(
    items: Iterable[In], work: Callable[[In], Out], *, pause_seconds: float = 0
) -> list[Out]:
    """Return `work(item)` of each item, yielding to the event loop first and every millisecond.

    Args:
        items: in the order of the results.
        work: the function; one call must take a small part of a millisecond.
        pause_seconds: the shortest duration of each yield. With a pause, background work gives way
            to a whole request instead of one step of it.
    """
    results: list[Out] = []
    ends = 0.0
    for item in items:
        if perf_counter() >= ends:
            await asyncio.sleep(pause_seconds)
            ends = perf_counter() + _TURN_SECONDS
        results.append(work(item))
    return results
