"""Route of purge. Source: wire specification, section 10."""

from app.kernel.permissions import Permission
from app.memory.retention.schemas import PurgeMemoriesRequest
from app.memory.retention.service import RetentionService
from app.platform.operations.schemas import Operation
from app.platform.operations.services.operations import OperationService
from app.web.context import Mutation
from app.web.demands import WORK, change
from app.web.names import EnginePath
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router(
    "memories",
    demands={
        "purgeMemories": change(Permission.MEMORIES_PURGE, WORK, is_costly=True),
    },
)


@router.post(
    ENGINE + "/memories:purge",
    summary="Purge memories",
    operation_id="purgeMemories",
)
async def purge_memories(
    context: Mutation, engine: EnginePath, body: PurgeMemoriesRequest
) -> Operation:
    """Delete the matching memories of any scope; without `force`, count them and show some."""
    once = context.once(body.sent())
    row = await RetentionService.of(context.resources).purge(engine, body, once)
    return await OperationService.of(context.resources).render(row)
