"""Search in the memories of a scope, and in its user's sessions.

The result is the matches themselves or an answer made from them. Facts and passages are never
ranked together: a distance and a weight of words have no common scale. No transaction is open
during a model call.
"""

from dataclasses import replace

from app.adapters.db.filters import read_filter
from app.adapters.resources import Resources
from app.conversation.recall.logic.findings import Findings, RecallFact
from app.conversation.recall.schemas import (
    RecallMemoriesRequest,
    RecallMemoriesResponse,
    RecallMode,
)
from app.conversation.recall.services.responses import check_names, names_of, recalled
from app.conversation.recall.services.retelling import MORE
from app.conversation.recall.services.searching import (
    USER_KEY,
    FoundInSessions,
    SessionsQuery,
    SessionsSearch,
)
from app.kernel.errors import InvalidArgument
from app.kernel.names import EngineName
from app.kernel.wire.scalars import parse_timestamp
from app.memory.retrieval.schemas import RetrieveMemoriesRequest, SimilaritySearchParams
from app.memory.retrieval.services.retrieval import MAX_COUNT, RetrievalService
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import name_of
from app.platform.operations.services.operations import GivenUp
from app.platform.sessions.store import repository as sessions


async def recall(
    resources: Resources, name: EngineName, request: RecallMemoriesRequest, is_given_up: GivenUp
) -> RecallMemoriesResponse:
    """Return the matches in a scope; calls the embedding model.

    Raises:
        InvalidArgument: the scope names no user though sessions are included; the filter, model
            or counter is invalid.
        NotFound: the engine does not exist.
        ResourceExhausted: the engine's token budget for today is used up.
        BadGateway: the model's reply cites none of the passages that it was given.
    """
    counter = await check_names(resources, request)
    _check_user(request)
    async with resources.db.snapshot() as session:
        engine = name_of(await engines.get(session, name))
    findings, searched = Findings(facts=await _facts(resources, name, request)), None
    if request.include_sessions:
        found = await _in_sessions(resources, name, request, is_given_up)
        findings, searched = replace(findings, hits=found.hits), found.searched
    result = await recalled(resources, engine, request, findings, counter)
    return RecallMemoriesResponse(
        **result.fields,
        facts=list(result.facts),
        sources=names_of(engine, result.sources),
        searched=searched,
    )


async def _facts(
    resources: Resources, name: EngineName, request: RecallMemoriesRequest
) -> list[RecallFact]:
    """Return the facts nearest to the query, or `MORE` times as many for a model."""
    is_listed = request.mode is RecallMode.EXTRACTIVE
    most = request.top_k if is_listed else min(request.top_k * MORE, MAX_COUNT)
    asked = RetrieveMemoriesRequest(
        scope=request.scope,
        similarity_search_params=SimilaritySearchParams(search_query=request.query, top_k=most),
        filter=request.filter,
        filter_groups=request.filter_groups,
    )
    retrieved = await RetrievalService.of(resources).retrieve(name, asked)
    return [
        RecallFact(
            name=hit["memory"]["name"],
            text=hit["memory"]["fact"],
            changed=parse_timestamp(hit["memory"]["updateTime"]),
            distance=hit.get("distance"),
        )
        for hit in retrieved.response["retrievedMemories"]
        if hit["memory"].get("fact")
    ]


async def _in_sessions(
    resources: Resources, name: EngineName, request: RecallMemoriesRequest, is_given_up: GivenUp
) -> FoundInSessions:
    wanted = SessionsQuery(
        engine=name,
        user_id=request.scope[USER_KEY],
        query=request.query,
        clause=read_filter(None, sessions.SESSIONS.fields, resources.settings),
    )
    return await SessionsSearch(resources, wanted, is_given_up).run()


def _check_user(request: RecallMemoriesRequest) -> None:
    if request.include_sessions and USER_KEY not in request.scope:
        raise InvalidArgument.of_field(
            "includeSessions",
            "must not be true unless the scope has user_id, whose sessions it is.",
        )
