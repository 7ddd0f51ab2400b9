"""The routes of retrieval. Source: wire specification, sections 7 and 11."""

from app.retrieval.schemas import (
    RetrieveMemoriesRequest,
    RetrieveMemoriesResponse,
    RetrieveProfilesRequest,
    RetrieveProfilesResponse,
)
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


@router.post(
    ENGINE + "/memories:retrieveProfiles",
    summary="Retrieve profiles",
    operation_id="retrieveProfiles",
)
async def retrieve_profiles(
    context: Context, engine: EnginePath, body: RetrieveProfilesRequest
) -> RetrieveProfilesResponse:
    """Return the profiles of exactly one scope."""
    return await RetrievalService.of(context.resources).retrieve_profiles(engine, body)
