"""Pairs of functions: for the client that is awaited, and for the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO, TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")

Pieces = BinaryIO | Iterable[bytes]
AsyncPieces = Pieces | AsyncIterable[bytes]
"""A body that is read as it is sent."""
Content = bytes | Pieces
AsyncContent = bytes | AsyncPieces
"""A body: whole, or read as it is sent."""

_CHUNK_BYTES = 65536


async def asleep(seconds: float) -> None:
    """Wait."""
    await asyncio.sleep(seconds)


def sleep(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)


async def agather(
    function: Callable[[Given], Awaitable[Made]], values: Iterable[Given], at_once: int
) -> list[Made]:
    """Return a function's results for values, in their order, some at once."""
    free = asyncio.Semaphore(at_once)

    async def made(value: Given) -> Made:
        async with free:
            return await function(value)

    return await asyncio.gather(*map(made, values))


def gather(function: Callable[[Given], Made], values: Iterable[Given], at_once: int) -> list[Made]:
    """Return a function's results for values, in their order, some at once."""
    with ThreadPoolExecutor(at_once) as threads:
        return list(threads.map(function, values))


async def achunks(content: AsyncPieces) -> AsyncIterator[bytes]:
    """Yield a body piece by piece; a file is read as it is sent, in another thread."""
    if isinstance(content, AsyncIterable):
        async for piece in content:
            yield piece
    elif hasattr(content, "read"):
        while piece := await asyncio.to_thread(content.read, _CHUNK_BYTES):
            yield piece
    else:
        for piece in content:
            yield piece


def chunks(content: Pieces) -> Iterator[bytes]:
    """Yield a body piece by piece; a file is read as it is sent."""
    if hasattr(content, "read"):
        while piece := content.read(_CHUNK_BYTES):
            yield piece
    else:
        yield from content
