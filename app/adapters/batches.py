"""Removal in batches, one transaction each."""

from collections.abc import Awaitable, Callable

from app.adapters.resources import RemoveBatch, Resources


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
