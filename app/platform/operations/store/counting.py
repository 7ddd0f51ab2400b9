"""Metrics of the queue that this process itself counts, once a transaction has committed."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from prometheus_client import Counter, Histogram
from sqlalchemy import event

from app.adapters.db.session import Session
from app.kernel.errors import ServiceError
from app.platform.operations.logic.states import OperationState

_FINISHED = Counter(
    "memory_bank_operations_finished_total",
    "Operations of the queue that have ended, by state and by the reason of their error.",
    ["kind", "state", "reason"],
)
_SECONDS = Histogram(
    "memory_bank_operation_seconds",
    "Time from the moment at which an operation was last due to its end.",
    ["kind"],
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600),
)
_ATTEMPTS = Histogram(
    "memory_bank_operation_attempts",
    "Attempts that an operation took, the last one included.",
    ["kind"],
    buckets=(1, 2, 3, 5, 10),
)
_EXPIRED = Counter(
    "memory_bank_operations_expired_leases_total",
    "Operations taken over from a worker that let its lease expire.",
)
_NO_REASON = "none"


def count_ended(
    session: Session,
    rows: Sequence[Any],
    state: OperationState,
    now: datetime,
    error: ServiceError | None,
) -> None:
    """Count ended operations at the commit; rows have `kind`, `due_time` and `attempts`."""
    reason = _NO_REASON if error is None else error.reason.value

    def count(_: object) -> None:
        for row in rows:
            _FINISHED.labels(row.kind, state.value, reason).inc()
            # An operation that ends before it is due, such as with its engine, was never late.
            _SECONDS.labels(row.kind).observe(max(0.0, (now - row.due_time).total_seconds()))
            _ATTEMPTS.labels(row.kind).observe(row.attempts)

    event.listen(session.sync_session, "after_commit", count, once=True)


def count_taken_over() -> None:
    """Count an operation claimed after its lease expired."""
    _EXPIRED.inc()
