"""Routes of operations. Source: google.longrunning.Operations; wire specification, section 4."""

from typing import Annotated

from fastapi import Query, Request

from app.kernel.permissions import Permission
from app.kernel.wire.base import Empty
from app.kernel.wire.scalars import Duration
from app.platform.operations.schemas import Operation, RetryOperationRequest
from app.platform.operations.services.operations import OperationService, retried_kinds, retry
from app.web.context import Context, Mutation
from app.web.demands import WORK, Demand, change
from app.web.names import OperationPath
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router(
    "operations",
    demands={
        "getOperation": Demand(Permission.OPERATIONS_GET),
        "waitOperation": Demand(Permission.OPERATIONS_GET, is_costly=True, waits=True),
        # And the permission of the kind's own method.
        "retryOperation": change(Permission.OPERATIONS_GET, WORK, is_costly=True),
        "cancelOperation": change(Permission.OPERATIONS_CANCEL),
        "deleteOperation": change(Permission.OPERATIONS_DELETE),
    },
)

_ONE = ENGINE + "/operations/{operation}"


@router.get(_ONE, summary="Get an operation", operation_id="getOperation")
async def get_operation(context: Context, name: OperationPath) -> Operation:
    """Return an operation; clients poll this until `done`."""
    return await OperationService.of(context.resources).get(name)


@router.post(_ONE + ":wait", summary="Wait for an operation", operation_id="waitOperation")
async def wait_operation(
    request: Request,
    context: Context,
    name: OperationPath,
    at_most: Annotated[
        Duration | None,
        Query(alias="timeout", description="Longest wait; a duration such as `10s`."),
    ] = None,
) -> Operation:
    """Return an operation once it is done, or its state when the timeout has passed."""
    service = OperationService.of(context.resources)
    # A disconnected client occupies one of its key's places until the disconnect is noticed.
    return await service.wait(name, at_most, request.is_disconnected)


@router.post(_ONE + ":retry", summary="Retry a failed operation", operation_id="retryOperation")
async def retry_operation(
    context: Mutation, name: OperationPath, body: RetryOperationRequest | None = None
) -> Operation:
    """Run the request of a failed operation again, as a new operation of the caller.

    Generations, undos, re-embeddings and regenerated summaries can be retried, once each, while
    their request is kept. The new operation's metadata name the failed one in `retriedOperation`,
    and the failed one's metadata name the new one in `retriedBy`. With `validateOnly`, a generation
    runs as a preview: its response has the facts, decisions and reasons, and nothing is written.
    """
    if not retried_kinds(context.resources, context.caller):
        # Refused before the operation is looked up, as for every missing permission.
        context.require(Permission.MEMORIES_GENERATE)
    request = body or RetryOperationRequest()
    row = await retry(
        context.resources,
        name,
        context.once(request.sent()),
        context.require,
        validate_only=request.validate_only or False,
    )
    return Operation.from_row(row)


@router.post(_ONE + ":cancel", summary="Cancel an operation", operation_id="cancelOperation")
async def cancel_operation(context: Mutation, name: OperationPath) -> Empty:
    """Cancel a pending operation; a running one stops at its next step."""
    await OperationService.of(context.resources).cancel(name, context.once({}))
    return Empty()


@router.delete(_ONE, summary="Delete an operation", operation_id="deleteOperation")
async def delete_operation(context: Mutation, name: OperationPath) -> Empty:
    """Delete an operation that has ended; its effects stay."""
    await OperationService.of(context.resources).delete(name, context.once({}))
    return Empty()
