"""Upkeep of streams: sweeps, metrics of waiting events, and the end of a restore."""

from datetime import timedelta
from functools import partial

from prometheus_client import Gauge

from app.adapters.batches import SweepBatches
from app.adapters.db.session import Session
from app.adapters.metrics import of_all
from app.adapters.resources import Resources
from app.memory.ingestion.services.ingestion import IngestionService
from app.memory.ingestion.store import erasure, repository
from app.platform.engines.store.tables import EngineRow

_PENDING = of_all(
    Gauge, "memory_bank_ingestion_pending_events", "Ingested events that are not in memories yet."
)
_OLDEST = of_all(
    Gauge,
    "memory_bank_ingestion_oldest_pending_seconds",
    "Time that the oldest of them has waited; 0 without any.",
)
_FAILED = of_all(
    Gauge, "memory_bank_streams_failed", "Streams with waiting events whose last operation failed."
)


async def reopen(batches: SweepBatches) -> int:
    """Open new operations for streams whose last one left events waiting; return the count."""
    service = IngestionService(batches.resources)
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


async def refresh_metrics(resources: Resources) -> None:
    """Read the waiting events of the streams of all engines; called at each scrape."""
    oldest, count, failed = await resources.db.read_all(repository.oldest_pending)
    now = resources.clock.now()
    _PENDING.set(count)
    _OLDEST.set(max(0.0, (now - (oldest or now)).total_seconds()))
    _FAILED.set(failed)


async def recount(_: Resources, session: Session, engine: EngineRow) -> None:
    """Recount the waiting events of a restored engine's streams."""
    await repository.count_again(session, engine.engine_id)
