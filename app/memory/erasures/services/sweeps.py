"""The sweep of erasures that failed: they are taken up again, as their scopes take no writes."""

from app.adapters.batches import SweepBatches
from app.memory.erasures.services.erasures import ErasureService
from app.memory.erasures.store import repository


async def take_up_failed(batches: SweepBatches) -> int:
    """Queue the erasures again that failed, after pauses that grow; return how many."""
    take_up = ErasureService.of(batches.resources).take_up
    return await batches.spread(repository.find_failed, take_up)
