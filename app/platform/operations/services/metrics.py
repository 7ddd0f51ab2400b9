"""Metrics of the queue, read from the database on request."""

from prometheus_client import Gauge

from app.adapters.resources import Resources
from app.platform.operations.store import leases

_DUE = Gauge("memory_bank_operations_due", "Operations that are due and wait for a worker.")
_OLDEST = Gauge(
    "memory_bank_operations_oldest_due_seconds",
    "How long the oldest of them has been due; 0 without any.",
)


async def refresh(resources: Resources) -> None:
    """Update the queue metrics, over all engines."""
    now = resources.clock.now()
    async with resources.db.snapshot() as session:
        queue = await leases.queue_at(session, now)
    _DUE.set(queue.due)
    _OLDEST.set((now - (queue.oldest_due_time or now)).total_seconds())
