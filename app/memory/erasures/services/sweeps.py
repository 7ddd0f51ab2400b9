"""The sweep of erasures that failed: they are taken up again, as their scopes take no writes."""

from datetime import timedelta
from functools import partial

from app.adapters.batches import SweepBatches
from app.memory.erasures.services.erasures import ErasureService
from app.memory.erasures.store import repository

_RESTS_FOR = timedelta(hours=1)
"""Time between a failure and the next try: what made it fail may last."""


async def take_up_failed(batches: SweepBatches) -> int:
    """Queue the erasures again that failed an hour ago or earlier; return how many."""
    before = batches.resources.clock.now() - _RESTS_FOR
    take_up = partial(ErasureService.of(batches.resources).take_up, before)
    return await batches.spread(partial(repository.find_failed, before), take_up)
