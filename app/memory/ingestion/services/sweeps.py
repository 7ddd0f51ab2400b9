"""Sweeps of streams: reopen stranded streams, and remove old streams and event ids."""

from datetime import timedelta
from functools import partial

from app.adapters.batches import SweepBatches
from app.adapters.resources import Resources
from app.memory.ingestion.services.ingestion import IngestionService
from app.memory.ingestion.store import erasure, repository


async def reopen(batches: SweepBatches) -> int:
    """Open new operations for streams whose last one left events waiting; return the count."""
    service = IngestionService.of(batches.resources)
    return await batches.spread(repository.find_stranded, service.reopen)


async def forget_old_ids(batches: SweepBatches) -> int:
    """Remove ids of events that are too old to be sent again; return the count."""
    find, remove = erasure.find_old_events, erasure.remove_old_events
    kept = _known_for(batches.resources)
    return await batches.spread(partial(find, kept), partial(remove, kept))


async def forget_old_streams(batches: SweepBatches) -> int:
    """Remove streams without events for the same period; return the count."""
    find, remove = erasure.find_old_streams, erasure.remove_old_streams
    kept = _known_for(batches.resources)
    return await batches.spread(partial(find, kept), partial(remove, kept))


def _known_for(resources: Resources) -> timedelta:
    return timedelta(seconds=resources.settings.tuning.ingestion_event_id_seconds)
