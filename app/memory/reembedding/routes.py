"""Route of re-embedding; this method is an addition of this service."""

from app.kernel.permissions import Permission
from app.memory.reembedding import service
from app.platform.operations.schemas import Operation
from app.web.context import Mutation
from app.web.demands import WORK, change
from app.web.names import EnginePath
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router(
    "engines",
    demands={
        "reembedReasoningEngine": change(Permission.ENGINES_UPDATE, WORK),
    },
)


@router.post(
    ENGINE + ":reembed", summary="Re-embed an engine", operation_id="reembedReasoningEngine"
)
async def reembed_engine(context: Mutation, name: EnginePath) -> Operation:
    """Embed the facts of an engine's memories with the model of the service's settings.

    Meanwhile the former model serves searches and writes; when all vectors exist, the new one
    does. The operation's metadata report the progress. Memories that the new model refuses have no
    vector, and only searches by words match them: the response has their `refusedCount`, and the
    first of their names in `refusedMemories`. After a cancellation, the next operation reuses the
    finished vectors.
    """
    once = context.once({})
    return Operation.from_row(await service.start(context.resources, name, once))
