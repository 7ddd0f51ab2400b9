"""Route of generation. Source: wire specification, section 8."""

from app.kernel.limits import Counted
from app.kernel.permissions import Permission
from app.memory.generation.schemas import GenerateMemoriesRequest
from app.memory.generation.services import generation
from app.platform.operations.schemas import Operation
from app.web.context import Mutation
from app.web.demands import CONVERSATION, WORK, change
from app.web.names import EnginePath
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router(
    "generation",
    demands={
        "generateMemories": change(
            Permission.MEMORIES_GENERATE, WORK, adds=(Counted.MEMORIES,), is_costly=True
        ).with_said(CONVERSATION),
    },
)


@router.post(
    ENGINE + "/memories:generate", summary="Generate memories", operation_id="generateMemories"
)
async def generate_memories(
    context: Mutation, engine: EnginePath, body: GenerateMemoriesRequest
) -> Operation:
    """Turn a conversation or given facts into memories of a scope, merged with existing ones.

    Returns an operation; its response lists the memories that were created, updated or deleted.
    """
    once = context.once(body.sent)
    return Operation.from_row(await generation.start(context.resources, engine, body, once))
