"""Long work on the event loop, in turns with all else that is to be done there."""

import asyncio
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import TypeVar

_TURN_SECONDS = 0.005

In = TypeVar("In")
Out = TypeVar("Out")


async def each(items: Iterable[In], work: Callable[[In], Out]) -> list[Out]:
    """Return what `work` makes of each item; every few milliseconds others have their turn."""
    found: list[Out] = []
    ends = perf_counter() + _TURN_SECONDS
    for item in items:
        if perf_counter() >= ends:
            await asyncio.sleep(0)
            ends = perf_counter() + _TURN_SECONDS
        found.append(work(item))
    return found
