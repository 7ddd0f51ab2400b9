"""Retry of many failed operations: they are found for the caller, and a worker retries each."""

from collections.abc import Awaitable, Callable, Collection

from app.adapters.db.conditions import scopes_of
from app.adapters.db.filters import read_filter
from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.auth import Caller
from app.kernel.changes import IdempotencyKey
from app.kernel.names import EngineName
from app.platform.operations.logic.states import BATCH_RETRY, type_url
from app.platform.operations.schemas import (
    BatchRetryOperationsRequest,
    BatchRetryOperationsResponse,
    QueuedBatchRetry,
)
from app.platform.operations.services.mutation import Method, Row, mutate
from app.platform.operations.store import failures
from app.platform.operations.store.filtering import operations
from app.platform.operations.store.tables import OperationRow

_METHOD = Method(BATCH_RETRY, "BatchRetryOperations")


async def start(
    resources: Resources,
    lock: Callable[[Session], Awaitable[Row]],
    request: BatchRetryOperationsRequest,
    once: IdempotencyKey | None,
    *,
    caller: Caller,
    kinds: Collection[str],
) -> OperationRow:
    """Queue the retry of the failed operations that a filter selects now, or only count them.

    Raises:
        ResourceExhausted: the engine has the maximum number of waiting operations.
    """
    async with mutate(resources, lock, _METHOD, once) as change:
        if change.replayed is not None:
            return change.replayed
        engine, now = EngineName.parse(change.operation.engine_name), change.operation.now
        fields = operations(engine, resources.registry.kinds).fields
        clause = read_filter(request.filter, fields, resources.settings)
        since = now - resources.settings.failed_request_retention
        found = await failures.find_retryable(change.session, engine, now, since, clause, kinds)
        chosen, is_capped = found[: failures.MOST], len(found) > failures.MOST
        change.within(scopes_of(change.session))
        if request.validate_only:
            change.note(validateOnly=True)
            return await change.done(response_of(len(chosen), {}, is_capped=is_capped))
        await change.check_queue()
        reach = caller.reach
        queued = QueuedBatchRetry(
            operations=chosen,
            is_capped=is_capped,
            engines=None if reach.engines is None else sorted(reach.engines),
            conditions={key: sorted(values) for key, values in reach.conditions.items()},
        )
        return await change.queue(None, queued.wire())


def response_of(retried: int, refused: dict[str, int], *, is_capped: bool) -> dict[str, object]:
    """Return the response of a retry of many operations."""
    response = BatchRetryOperationsResponse(
        retry_count=retried, refused_counts=refused or None, is_capped=is_capped or None
    )
    return {"@type": type_url("BatchRetryOperationsResponse"), **response.wire()}
