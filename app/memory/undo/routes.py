"""Route of undo; this method is an addition of this service."""

from app.kernel.limits import Counted
from app.kernel.permissions import Permission
from app.memory.undo import service
from app.memory.undo.schemas import UndoOperationRequest
from app.platform.operations.schemas import Operation
from app.web.context import Mutation
from app.web.demands import WORK, change
from app.web.names import OperationPath
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router(
    "operations",
    demands={
        "undoOperation": change(Permission.OPERATIONS_UNDO, WORK, adds=(Counted.BYTES,)),
    },
)


@router.post(
    ENGINE + "/operations/{operation}:undo",
    summary="Undo an operation",
    operation_id="undoOperation",
)
async def undo_operation(
    context: Mutation, name: OperationPath, body: UndoOperationRequest | None = None
) -> Operation:
    """Undo an operation's changes of memories, as new revisions, all at once.

    Memories that have changed since stay unchanged and are listed. An undo can be undone as well.
    The metadata of the undone operation name the newest undo in `undoneBy`.
    """
    request = body or UndoOperationRequest()
    once = context.once(request.sent())
    return Operation.from_row(await service.start(context.resources, name, request, once))
