"""Routes of retrieval. Source: wire specification, sections 7 and 11."""

from starlette.responses import Response

from app.kernel.permissions import Permission
from app.memory.retrieval.schemas import (
    RetrieveMemoriesRequest,
    RetrieveMemoriesResponse,
    RetrieveProfilesRequest,
    RetrieveProfilesResponse,
)
from app.memory.retrieval.services import retrieval
from app.web.answers import json_answer
from app.web.context import Context
from app.web.demands import LIST, SEARCH, Demand
from app.web.names import EnginePath
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router(
    "retrieval",
    demands={
        "retrieveMemories": Demand(Permission.MEMORIES_RETRIEVE, SEARCH, is_costly=True),
        "retrieveProfiles": Demand(Permission.MEMORIES_RETRIEVE, LIST),
    },
)

_HEADER = "x-memory-bank-retrieval"


@router.post(
    ENGINE + "/memories:retrieve",
    summary="Retrieve memories",
    operation_id="retrieveMemories",
    response_model=RetrieveMemoriesResponse,
)
async def retrieve_memories(
    context: Context, engine: EnginePath, body: RetrieveMemoriesRequest
) -> Response:
    """Return the memories of exactly one scope: best for a query first, or newest first.

    While the embedding model is unavailable, a search uses only words, and the response has the
    header `x-memory-bank-retrieval: lexical`.
    """
    retrieved = await retrieval.retrieve(context.resources, engine, body)
    headers = {_HEADER: "lexical"} if retrieved.is_without_vectors else None
    return await json_answer(retrieved.response, headers)


@router.post(
    ENGINE + "/memories:retrieveProfiles",
    summary="Retrieve profiles",
    operation_id="retrieveProfiles",
)
async def retrieve_profiles(
    context: Context, engine: EnginePath, body: RetrieveProfilesRequest
) -> RetrieveProfilesResponse:
    """Return the profiles of exactly one scope."""
    return await retrieval.retrieve_profiles(context.resources, engine, body)
