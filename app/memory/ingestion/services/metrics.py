"""Metrics of waiting events, read from the database at each scrape."""

from prometheus_client import Gauge

from app.adapters.metrics import of_all
from app.adapters.resources import Resources
from app.memory.ingestion.services.streams import read_pending

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


async def refresh(resources: Resources) -> None:
    """Read the waiting events of the streams of all engines."""
    pending = await read_pending(resources)
    _PENDING.set(pending.count)
    _OLDEST.set(pending.oldest_age_seconds)
    _FAILED.set(pending.failed_streams)
