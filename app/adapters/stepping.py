"""Iteration over blocking work in a separate thread."""

import asyncio
from collections.abc import AsyncIterator, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


async def stepped(work: Generator[T, None, None], name: str) -> AsyncIterator[T]:
    """Yield the values of a generator whose steps all run in one separate thread.

    The generator is also closed in that thread, after the current step if the caller stops early.

    Args:
        work: the generator; a step may block.
        name: the name of the thread.
    """
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(1, thread_name_prefix=name)
    try:
        while True:
            # A thread cannot raise `StopIteration` through a future.
            stepped = await loop.run_in_executor(thread, lambda: [*_first(work)])
            if not stepped:
                return
            yield stepped[0]
    finally:
        thread.submit(work.close)
        thread.shutdown(wait=False)


def _first(work: Generator[T, None, None]) -> Generator[T, None, None]:
    for value in work:
        yield value
        return
