"""The sweeps of streams: what fell through is taken up again, what is old is forgotten."""

from datetime import timedelta
from functools import partial

from app.adapters.batches import in_spread_batches
from app.adapters.resources import Resources
from app.memory.ingestion.services.ingestion import IngestionService
from app.memory.ingestion.store import erasure, repository


async def reopen(resources: Resources) -> int:
    """Give streams a new operation whose last one left events waiting; return how many."""
    reopen = IngestionService.of(resources).reopen
    return await in_spread_batches(resources, repository.find_stranded, reopen)


async def forget_old_ids(resources: Resources) -> int:
    """Remove the ids of events that arrived too long ago to come again; return how many."""
    find, remove = erasure.find_old_events, erasure.remove_old_events
    kept = _known_for(resources)
    return await in_spread_batches(resources, partial(find, kept), partial(remove, kept))


async def forget_old_streams(resources: Resources) -> int:
    """Remove streams that have been silent as long; return how many."""
    find, remove = erasure.find_old_streams, erasure.remove_old_streams
    kept = _known_for(resources)
    return await in_spread_batches(resources, partial(find, kept), partial(remove, kept))


def _known_for(resources: Resources) -> timedelta:
    return timedelta(seconds=resources.settings.tuning.ingestion_event_id_seconds)
