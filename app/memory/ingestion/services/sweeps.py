"""The sweeps of streams: what fell through is taken up again, what is old is forgotten."""

from datetime import timedelta
from functools import partial

from app.adapters.batches import SweepBatches
from app.adapters.resources import Resources
from app.memory.ingestion.services.ingestion import IngestionService
from app.memory.ingestion.store import erasure, repository


async def reopen(batches: SweepBatches) -> int:
    """Give streams a new operation whose last one left events waiting; return how many."""
    service = IngestionService.of(batches.resources)
    return await batches.spread(repository.find_stranded, service.reopen)


async def forget_old_ids(batches: SweepBatches) -> int:
    """Remove the ids of events that arrived too long ago to come again; return how many."""
    find, remove = erasure.find_old_events, erasure.remove_old_events
    kept = _known_for(batches.resources)
    return await batches.spread(partial(find, kept), partial(remove, kept))


async def forget_old_streams(batches: SweepBatches) -> int:
    """Remove streams that have been silent as long; return how many."""
    find, remove = erasure.find_old_streams, erasure.remove_old_streams
    kept = _known_for(batches.resources)
    return await batches.spread(partial(find, kept), partial(remove, kept))


def _known_for(resources: Resources) -> timedelta:
    return timedelta(seconds=resources.settings.tuning.ingestion_event_id_seconds)
