"""The sweeps of streams: what fell through is taken up again, what is old is forgotten."""

from app.adapters.batches import in_batches
from app.adapters.resources import Resources
from app.memory.ingestion.services.ingestion import IngestionService
from app.memory.ingestion.services.streams import StreamService


async def reopen(resources: Resources) -> int:
    """Give streams a new operation whose last one left events waiting; return how many."""
    return await IngestionService.of(resources).reopen()


async def forget_old_ids(resources: Resources) -> int:
    """Remove the ids of events that arrived too long ago to come again; return how many."""
    return await in_batches(resources, StreamService(resources).forget_old_ids)


async def forget_old_streams(resources: Resources) -> int:
    """Remove streams that have been silent as long; return how many."""
    return await in_batches(resources, StreamService(resources).forget_old_streams)
