"""Long work of the built-in rules, done a piece at a time beside the event loop."""

import asyncio
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import TypeVar

_Result = TypeVar("_Result")
_PIECE_SECONDS = 0.05
# One thread for all generations, which take turns: Python runs one at a time anyway, and each
# further thread would keep the event loop waiting.
_THREAD = ThreadPoolExecutor(1, "rules")


async def in_pieces(steps: Generator[None, None, _Result]) -> _Result:
    """Take the steps, and return what they return; others have their turn between two pieces."""
    loop = asyncio.get_running_loop()
    while not (results := await loop.run_in_executor(_THREAD, _do_piece, steps)):
        pass
    return results[0]


def _do_piece(steps: Generator[None, None, _Result]) -> list[_Result]:
    """Take steps for a while; return their result in a list, empty before the end."""
    end = monotonic() + _PIECE_SECONDS
    while monotonic() < end:
        try:
            next(steps)
        except StopIteration as ended:
            return [ended.value]
    return []
