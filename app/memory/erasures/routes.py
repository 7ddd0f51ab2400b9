"""Route of the erasure of a scope; the method is this service's own."""

from app.kernel.permissions import Permission
from app.memory.erasures.schemas import EraseScopeRequest
from app.memory.erasures.services.erasures import ErasureService
from app.platform.operations.schemas import Operation
from app.web.context import Mutation
from app.web.demands import WORK, change
from app.web.names import EnginePath
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router(
    "engines",
    demands={"eraseScope": change(Permission.MEMORIES_PURGE, WORK, is_costly=True)},
)


@router.post(ENGINE + ":eraseScope", summary="Erase a scope", operation_id="eraseScope")
async def erase_scope(context: Mutation, name: EnginePath, body: EraseScopeRequest) -> Operation:
    """Erase everything in scopes that contain these pairs, for good, and return a certificate.

    Until the end, writes to the scope are refused. If the scope is already being erased, the
    response is the operation of that erasure. With `validateOnly` nothing changes, and no operation
    is stored.
    """
    once = context.once(body.sent())
    return await ErasureService(context.resources).start(name, body, once, context.caller.reach)
