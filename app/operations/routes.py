"""Routes of operations. Source: google.longrunning.Operations; wire specification, section 4."""

from typing import Annotated

from fastapi import Query

from app.operations.schemas import ListOperationsResponse, Operation
from app.operations.service import OperationService
from app.web.context import Context
from app.web.names import EnginePath, OperationPath
from app.web.paging import Page
from app.web.paths import ENGINE
from app.web.routing import Router
from app.wire.base import Empty
from app.wire.scalars import Duration

router = Router("operations")

_COLLECTION = ENGINE + "/operations"
_ONE = _COLLECTION + "/{operation}"


@router.get(_COLLECTION, summary="List operations", operation_id="listOperations")
async def list_operations(
    context: Context, engine: EnginePath, page: Page
) -> ListOperationsResponse:
    """List the operations of an engine, newest first."""
    return await OperationService.of(context.resources).list_page(engine, page)


@router.get(_ONE, summary="Get an operation", operation_id="getOperation")
async def get_operation(context: Context, name: OperationPath) -> Operation:
    """Return an operation; clients poll this until `done`."""
    return await OperationService.of(context.resources).get(name)


@router.post(_ONE + ":wait", summary="Wait for an operation", operation_id="waitOperation")
async def wait_operation(
    context: Context,
    name: OperationPath,
    at_most: Annotated[
        Duration | None,
        Query(alias="timeout", description="Longest wait; a duration such as `10s`."),
    ] = None,
) -> Operation:
    """Return an operation once it is done, or as it is when the timeout has passed."""
    return await OperationService.of(context.resources).wait(name, at_most)


@router.post(_ONE + ":cancel", summary="Cancel an operation", operation_id="cancelOperation")
async def cancel_operation(context: Context, name: OperationPath) -> Empty:
    """Cancel what waits; ask what runs to stop at its next step."""
    await OperationService.of(context.resources).cancel(name)
    return Empty()


@router.delete(_ONE, summary="Delete an operation", operation_id="deleteOperation")
async def delete_operation(context: Context, name: OperationPath) -> Empty:
    """Forget an operation that has ended; what it did stays."""
    await OperationService.of(context.resources).delete(name)
    return Empty()
