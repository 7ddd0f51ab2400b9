"""Metric of memories that wait for embedding, read from the database at each scrape."""

from prometheus_client import Gauge

from app.adapters.metrics import of_all
from app.adapters.resources import Resources
from app.memory.reembedding.store import repository

_WAITING = of_all(
    Gauge,
    "memory_bank_memories_unembedded",
    "Memories whose facts wait for their vectors; searches find them by words alone.",
)


async def refresh(resources: Resources) -> None:
    """Count the waiting memories of all engines."""
    _WAITING.set(await resources.db.read_all(repository.count_waiting))
