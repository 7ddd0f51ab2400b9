"""Long work of the built-in rules, done in pieces outside the event loop."""

import asyncio
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import TypeVar

_Result = TypeVar("_Result")
_PIECE_SECONDS = 0.05
# One thread for all generations, which take turns: Python runs one thread at a time anyway, and
# each further thread would keep the event loop waiting.
_THREAD = ThreadPoolExecutor(1, "rules")


async def in_pieces(steps: Generator[None, None, _Result]) -> _Result:
    """Run the steps and return their result; other work can run between two pieces."""
    loop = asyncio.get_running_loop()
    while not (results := await loop.run_in_executor(_THREAD, _do_piece, steps)):
        pass
    return results[0]


def _do_piece(steps: Generator[None, None, _Result]) -> list[_Result]:
    """Run steps for a while; return a list with their result, or an empty list before the end."""
    end = monotonic() + _PIECE_SECONDS
    while monotonic() < end:
        try:
            next(steps)
        except StopIteration as ended:
            return [ended.value]
    return []
