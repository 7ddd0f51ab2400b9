"""Keeps long work on what a provider has sent off the event loop."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_LONG = 65_536
"""Characters or bytes; a hundred times as much would hold up everything else for a second."""

P = ParamSpec("P")
T = TypeVar("T")


async def done(length: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what `work` does, in a thread where it is about something long.

    What is short is done at once: a thread takes longer to get at it.
    """
    if length < _LONG:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)
