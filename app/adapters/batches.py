"""Work in batches, one transaction each."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from time import monotonic

from app.adapters.db.session import Session
from app.adapters.db.spread import ChangeKeys, change_found
from app.adapters.resources import FindRows, RemoveBatch, Resources

_REST = 0.5
"""Rest after a batch, in parts of the time that it took."""


def batched(remove: RemoveBatch) -> Callable[[Resources], Awaitable[int]]:
    """Return what calls a removal until nothing is left, one transaction a batch."""

    async def run(resources: Resources) -> int:
        return await in_batches(resources, remove)

    return run


async def in_batches(resources: Resources, remove: RemoveBatch) -> int:
    """Call a removal until nothing is left, one transaction a batch; return the rows removed."""
    limit = resources.settings.tuning.sweep_batch_rows
    total = 0
    while True:
        async with resources.db.transaction() as session:
            count = await remove(session, limit)
        total += count
        if count < limit:
            return total


def spread(find: FindRows, change: ChangeKeys[int]) -> Callable[[Resources], Awaitable[int]]:
    """Return a sweep that runs `in_spread_batches` with these functions."""

    async def run(resources: Resources) -> int:
        return await in_spread_batches(resources, find, change)

    return run


async def in_spread_batches(resources: Resources, find: FindRows, change: ChangeKeys[int]) -> int:
    """Find and change rows engine by engine until nothing is left; return the rows changed."""
    limit = resources.settings.tuning.sweep_batch_rows
    total = 0
    while True:
        found, counts = await change_found(
            resources.db, lambda session: find(session, limit), change
        )
        total += sum(counts)
        # Others may hold all that was found: the next sweep finds it again.
        if found < limit or not any(counts):
            return total


@asynccontextmanager
async def paced(transaction: AbstractAsyncContextManager[Session]) -> AsyncIterator[Session]:
    """Run a batch in a transaction and rest after it, so that others hardly notice the work."""
    began = monotonic()
    async with transaction as session:
        yield session
    await asyncio.sleep((monotonic() - began) * _REST)
