"""Worker job that retries many failed operations, each in a transaction of its own.

The progress is stored after each batch. A worker that repeats a part of it after a kill finds the
operations that were queued before by the ids of the requests.
"""

from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from app.adapters.resources import Resources
from app.kernel.auth import Caller, Reach
from app.kernel.changes import IdempotencyKey, digest_of
from app.kernel.errors import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    ResourceExhausted,
    ServiceError,
)
from app.kernel.names import EngineName, OperationName
from app.kernel.permissions import Permission
from app.platform.operations.schemas import QueuedBatchRetry
from app.platform.operations.services.batch_retry import response_of
from app.platform.operations.services.operations import retry
from app.platform.operations.services.runner import Job, Postponed
from app.platform.operations.store import leases

_PROGRESS = "batchRetryProgress"
_BATCH = 50
"""Operations between two notes of the progress."""
_FULL_PAUSE = timedelta(seconds=10)
"""Time until the next look whether a full queue has room."""
_REFUSALS = (AlreadyExists, FailedPrecondition, InvalidArgument, NotFound, ResourceExhausted)
"""Errors of one operation, which do not concern the others."""


async def batch_retry(job: Job, resources: Resources) -> None:
    """Run a queued retry of many operations, or continue one.

    Raises:
        Cancelled: the client has cancelled it; what was queued again runs nevertheless.
        Postponed: the engine has the maximum number of waiting operations.
    """
    request = QueuedBatchRetry.model_validate(job.claim.request)
    progress = _RetryProgress.of(job.claim.details)
    batch = _BatchRetry(job, _as_the_caller(job, resources, request))
    while progress.position < len(request.operations):
        await job.step()
        begin = progress.position
        is_full = False
        for operation_id in request.operations[begin : begin + _BATCH]:
            if is_full := await batch.is_full():
                break
            progress = await batch.retry(operation_id, progress)
        async with job.db.transaction() as session:
            await job.note(session, progress.details())
            await job.advance(session)
        if is_full:
            raise Postponed(job.clock.now() + _FULL_PAUSE)
    response = response_of(progress.retried, progress.refused, is_capped=request.is_capped)
    async with job.db.transaction() as session:
        await job.finish(session, response, {_PROGRESS: None})


def _as_the_caller(job: Job, resources: Resources, request: QueuedBatchRetry) -> Resources:
    engines = None if request.engines is None else frozenset(request.engines)
    conditions = {key: frozenset(values) for key, values in request.conditions.items()}
    reach = Reach(engines=engines, conditions=conditions)
    caller = Caller(job.claim.caller or "", frozenset(), reach)
    return replace(resources, db=job.db.for_caller(caller))


@dataclass(frozen=True)
class _RetryProgress:
    """The number of operations that were looked at, and what became of them."""

    position: int
    retried: int
    refused: dict[str, int]

    @classmethod
    def of(cls, details: dict[str, Any]) -> "_RetryProgress":
        stored = details.get(_PROGRESS, {})
        refused = stored.get("refused", {})
        return cls(stored.get("position", 0), stored.get("retried", 0), refused)

    def details(self) -> dict[str, Any]:
        stored = {"position": self.position, "retried": self.retried, "refused": self.refused}
        return {_PROGRESS: stored}

    def after(self, refusal: ServiceError | None) -> "_RetryProgress":
        if refusal is None:
            return replace(self, position=self.position + 1, retried=self.retried + 1)
        refused = Counter(self.refused) + Counter({str(refusal.reason): 1})
        return replace(self, position=self.position + 1, refused=dict(refused))


@dataclass(frozen=True)
class _BatchRetry:
    job: Job
    resources: Resources

    async def is_full(self) -> bool:
        most = self.resources.settings.engine_max_queued_operations
        async with self.job.db.snapshot() as session:
            try:
                await leases.check_queue(session, self.job.claim.owned.engine_id, most)
            except ResourceExhausted:
                return True
        return False

    async def retry(self, operation_id: str, progress: _RetryProgress) -> _RetryProgress:
        claim = self.job.claim
        name = OperationName(EngineName.parse(claim.engine_name), operation_id)
        once = IdempotencyKey(
            caller=claim.caller or "",
            request_id=f"{claim.owned.operation_id}/{operation_id}",
            request_hash=digest_of([claim.kind, operation_id]),
            keep=timedelta(seconds=self.resources.settings.idempotency_seconds),
        )
        try:
            await retry(self.resources, name, once, _permitted)
        except _REFUSALS as refusal:
            return progress.after(refusal)
        return progress.after(None)


def _permitted(_: Permission) -> None:
    """Accept every operation: only kinds that the caller may retry were chosen."""
