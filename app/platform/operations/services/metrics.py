"""Metrics of the queue, read from the database on request."""

from collections.abc import Mapping

from prometheus_client import Gauge

from app.adapters.db.session import Session
from app.adapters.metrics import of_all
from app.adapters.resources import Resources
from app.platform.operations.store import queue

_DUE = of_all(Gauge, "memory_bank_operations_due", "Operations that are due and wait for a worker.")
_OLDEST = of_all(
    Gauge,
    "memory_bank_operations_oldest_due_seconds",
    "Time since the oldest of them became due; 0 without any.",
)

_RUNNING = of_all(
    Gauge, "memory_bank_operations_running", "Operations that a worker has claimed.", ["kind"]
)


async def refresh(resources: Resources) -> None:
    """Update the queue metrics, over all engines."""
    now = resources.clock.now()

    async def read(session: Session) -> tuple[queue.Queue, Mapping[str, int]]:
        return await queue.queue_at(session, now), await queue.running_by_kind(session)

    waiting, running = await resources.db.read_all(read)
    _DUE.set(waiting.due)
    _OLDEST.set((now - (waiting.oldest_due_time or now)).total_seconds())
    _RUNNING.clear()
    for kind, count in running.items():
        _RUNNING.labels(kind).set(count)
