"""The retry of failed operations: the kept request runs again as a new operation."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from app.adapters.batches import SweepBatches
from app.adapters.resources import Resources, Retry
from app.kernel.changes import IdempotencyKey
from app.kernel.errors import AlreadyExists, FailedPrecondition, NotFound, Reason
from app.kernel.names import OperationName
from app.kernel.permissions import Permission
from app.platform.operations.logic.states import INGEST, OperationState
from app.platform.operations.services.mutation import insert_queued
from app.platform.operations.store import idempotency, kept_requests, leases, repository
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow


async def retry(
    resources: Resources,
    name: OperationName,
    once: IdempotencyKey | None,
    require: Callable[[Permission], None],
) -> OperationRow:
    """Queue a failed operation's request as a new operation of the caller.

    `require` checks the permission that the kind's own method demands.

    Raises:
        AlreadyExists: the operation was retried.
        FailedPrecondition: the operation has not failed, its kind is not retried, or its
            request is not kept.
        NotFound: the operation does not exist.
        PermissionDenied: the caller may not call the kind's own method.
        ResourceExhausted: a limit of the kind's own method is reached, or the queue is full.
    """
    now = resources.clock.now()
    async with resources.db.transaction() as session:
        failed = await repository.get(session, name, now)
        way = resources.registry.retries.get(failed.kind)
        if way is not None:
            require(way.permission)
        new = _renewed(resources, failed, now)
        known = await idempotency.begin(session, once, new.engine_id, now, operation=new)
        if known is not None:
            return await known.operation(session, name.engine, now)
        way = _checked(resources, failed, now)
        most = resources.settings.engine_max_queued_operations
        await leases.check_queue(session, failed.engine_id, most)
        # Before the operation's lock: an erasure locks the engine first, too.
        renewed = await way.renew(resources, session, failed, new)
        locked = await leases.lock(session, failed.engine_id, failed.operation_id)
        if locked is None:
            raise NotFound.of(name)
        _checked(resources, locked, now)
        row = await insert_queued(session, once, new.engine_id, begun=new, operation=renewed)
        await kept_requests.hand_on(session, locked, row.name)
        return row


def _renewed(resources: Resources, failed: OperationRow, now: datetime) -> NewOperation:
    """Return a new operation with the kind, key, scopes and request of a failed one."""
    return NewOperation(
        failed.engine_id,
        failed.engine_name,
        failed.kind,
        now,
        resources.settings.operation_retention,
        {"@type": failed.details["@type"], "retriedOperation": failed.name},
        failed.key,
        failed.request,
        scopes=failed.scopes,
    )


def _checked(resources: Resources, row: OperationRow, now: datetime) -> Retry:
    """Return how an operation is retried.

    Raises:
        AlreadyExists: it was retried.
        FailedPrecondition: it cannot be retried.
    """
    state, retries = OperationState(row.state), resources.registry.retries
    if not state.is_final:
        raise FailedPrecondition(
            f"{row.name} has not ended; only a failed operation is retried.",
            Reason.OPERATION_RUNNING,
        )
    if state is not OperationState.FAILED:
        raise FailedPrecondition(
            f"{row.name} {_ENDS[state]}; only a failed operation is retried.",
            Reason.OPERATION_NOT_FAILED,
        )
    if row.kind not in retries:
        raise FailedPrecondition(
            f"{row.name} {_instead(row.kind, sorted(retries))}", Reason.KIND_NOT_RETRIED
        )
    if newer := row.details.get(kept_requests.RETRIED_BY):
        raise AlreadyExists(
            f"{row.name} was retried; see {newer}.",
            Reason.ALREADY_RETRIED,
            metadata={"operation": newer},
        )
    kept = resources.settings.failed_request_retention
    if row.request is None or row.update_time + kept <= now:
        raise not_kept(row)
    return retries[row.kind]


_ENDS = {OperationState.SUCCEEDED: "succeeded", OperationState.CANCELLED: "was cancelled"}


def _instead(kind: str, retried: list[str]) -> str:
    if kind == INGEST:
        return "ingests a stream, which keeps its events and tries by itself; flush the stream."
    return f"is of the kind {kind}; only these kinds are retried: {', '.join(retried)}."


def not_kept(row: OperationRow) -> FailedPrecondition:
    """Return the error of an operation whose request cannot run again."""
    return FailedPrecondition(
        f"The request of {row.name} is no longer kept, or was erased; send the request itself.",
        Reason.REQUEST_NOT_KEPT,
    )


async def forget_old_requests(batches: SweepBatches) -> int:
    """Clear the requests of operations that failed too long ago; return the count."""
    kept = batches.resources.settings.failed_request_retention
    select = partial(kept_requests.select_old, kept)
    return await batches.remove(select, kept_requests.clear_old)
