"""The route of retrieval. Source: wire specification, section 7."""

from app.retrieval.schemas import RetrieveMemoriesRequest, RetrieveMemoriesResponse
from app.retrieval.service import RetrievalService
from app.web.context import Context
from app.web.names import EnginePath
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router("memories")


@router.post(
    ENGINE + "/memories:retrieve", summary="Retrieve memories", operation_id="retrieveMemories"
)
async def retrieve_memories(
    context: Context, engine: EnginePath, body: RetrieveMemoriesRequest
) -> RetrieveMemoriesResponse:
    """Return the memories of exactly one scope: nearest to a query, or newest first."""
    return await RetrievalService.of(context.resources).retrieve(engine, body)
