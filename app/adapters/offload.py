"""Offloading of long synchronous work from the event loop to a thread."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_LONG = 65_536
"""Length of long input, in characters or bytes; a hundred times as many would block a second."""

P = ParamSpec("P")
T = TypeVar("T")


async def done(length: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of `work`, run in a thread if its input is long.

    Short work runs at once: starting a thread would take longer.
    """
    if length < _LONG:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)
