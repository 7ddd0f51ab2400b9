"""Search in a session, a user's sessions or a scope's memories, for matches or an answer.

Events are read in pages, each in its own transaction, and scored in a thread. Facts and passages
are never ranked together: a distance and a weight of words have no common scale.
"""

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from app.adapters.db.filters import read_filter
from app.adapters.resources import Resources
from app.conversation.contexts.schemas import SeqRange
from app.conversation.recall.logic import (
    MAX_SENTENCES,
    Findings,
    PassageReader,
    RecallFact,
    RecallHit,
    SessionPlace,
)
from app.conversation.recall.schemas import (
    RecallMemoriesRequest,
    RecallMemoriesResponse,
    RecallMode,
    RecallRequest,
    RecallResponse,
    RecallSessionsRequest,
    RecallSessionsResponse,
)
from app.conversation.recall.services.responses import MORE, check_names, names_of, recalled
from app.conversation.recall.services.searching import (
    USER_KEY,
    FoundInSessions,
    PassageReading,
    ReadingBounds,
    SessionsQuery,
    SessionsSearch,
)
from app.kernel.auth import Conditions
from app.kernel.errors import InvalidArgument
from app.kernel.names import EngineName, SessionName
from app.kernel.paging import decode_token, encode_token, typed_key
from app.kernel.wire.scalars import parse_timestamp
from app.language.terms import Terms
from app.memory.retrieval.schemas import RetrieveMemoriesRequest, SimilaritySearchParams
from app.memory.retrieval.services import retrieval
from app.memory.retrieval.services.retrieval import MAX_COUNT
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import name_of
from app.platform.operations.services.operations import GivenUp
from app.platform.sessions.logic.event_text import EventNumbers, EventText
from app.platform.sessions.store import event_texts
from app.platform.sessions.store import repository as sessions

MAX_EVENTS = 20_000
"""Maximum number of events searched, newest first; MAX_BYTES limits their total size."""
MAX_BYTES = 4 * 1024 * 1024
MAX_SECONDS = 2.0
"""Time after which no further events are searched."""
_PAGE = 200


class _SearchedRange(NamedTuple):
    """Session to search, with the numbers of the first and last event to search."""

    name: SessionName
    first: int
    last: int


async def recall_session(
    resources: Resources, name: SessionName, request: RecallRequest, is_given_up: GivenUp
) -> RecallResponse:
    """Return the matches in a session, or none if the client has stopped waiting."""
    counter = await check_names(resources, request)
    session = await _session(resources, name, request.exclude_recent)
    hits, searched = await _search(resources, session, request.query, is_given_up)
    findings = Findings(hits, is_one_session=True)
    result = await recalled(resources, session.name.engine, request, findings, counter)
    seqs = None
    if result.sources is not None:
        events = (said for said in result.sources if isinstance(said, EventText))
        seqs = list(dict.fromkeys(said.seq for said in events))
    return RecallResponse(**result.fields, seqs=seqs, searched=searched)


async def _session(resources: Resources, name: SessionName, exclude_recent: int) -> _SearchedRange:
    async with resources.db.snapshot() as session:
        engine = await engines.get(session, name.engine)
        row = await sessions.get(session, name, resources.clock.now())
        full = SessionName(name_of(engine), row.session_id)
        return _SearchedRange(full, row.cleared_seq + 1, row.last_seq - exclude_recent)


async def _search(
    resources: Resources, wanted: _SearchedRange, query: str, is_given_up: GivenUp
) -> tuple[list[RecallHit], SeqRange | None]:
    terms = Terms(query)
    if not len(terms):
        return [], None
    bounds = ReadingBounds(MAX_EVENTS, MAX_BYTES, MAX_SENTENCES, MAX_SECONDS)
    read = PassageReading(PassageReader(terms), bounds, is_given_up)
    before = wanted.last
    while before >= wanted.first and not read.is_full:
        async with resources.db.snapshot() as session:
            numbers = EventNumbers(wanted.first, before)
            page = await event_texts.list_event_texts(
                session, wanted.name, numbers, _PAGE, newest=True
            )
        if not page:
            before = wanted.first - 1
            break
        await read.add([page])
        before = read.last_read[1] - 1
    if before >= wanted.last or read.has_left:
        return [], None
    hits = await asyncio.to_thread(read.reader.best)
    return hits, SeqRange(first_seq=before + 1, last_seq=wanted.last)


async def recall_sessions(
    resources: Resources,
    name: EngineName,
    request: RecallSessionsRequest,
    conditions: Conditions,
    is_given_up: GivenUp,
) -> RecallSessionsResponse:
    """Return the matches in a user's sessions, or none if the client has stopped waiting.

    `conditions` are the caller's access conditions, which may determine the user.

    Raises:
        InvalidArgument: the user is missing; the filter, page token, model or counter is invalid.
    """
    counter = await check_names(resources, request)
    token_query = {
        "list": "recallSessions",
        "engine": name.engine,
        # A token is valid only for the same request.
        "request": request.model_copy(update={"page_token": None}).wire(),
    }
    wanted = SessionsQuery(
        engine=name,
        user_id=_user_of(request, conditions),
        query=request.query,
        clause=read_filter(request.filter, sessions.SESSIONS.fields, resources.settings),
        excluded=request.exclude_sessions,
        start=request.start_time,
        end=request.end_time,
        place=_read_token(request.page_token, token_query),
    )
    async with resources.db.snapshot() as session:
        engine = name_of(await engines.get(session, name))
    matches = await SessionsSearch(resources, wanted, is_given_up).run()
    place, next_token = matches.place, None
    if place is not None:
        key = (place.create_time, place.session_id, place.seq)
        next_token = encode_token(token_query, key)
    result = await recalled(resources, engine, request, Findings(matches.hits), counter)
    return RecallSessionsResponse(
        **result.fields,
        events=names_of(engine, result.sources),
        searched=matches.searched,
        next_page_token=next_token,
    )


def _user_of(request: RecallSessionsRequest, conditions: Conditions) -> str:
    only = list(conditions.get(USER_KEY, ()))
    if request.user_id is not None:
        return request.user_id
    if len(only) != 1:
        raise InvalidArgument.of_field(
            "userId", "is required, unless the key is restricted to one user_id."
        )
    return only[0]


def _read_token(token: str | None, query: dict[str, Any]) -> SessionPlace | None:
    if not token:
        return None
    return SessionPlace(*typed_key(decode_token(token, query), datetime, str, int))


async def recall_memories(
    resources: Resources, name: EngineName, request: RecallMemoriesRequest, is_given_up: GivenUp
) -> RecallMemoriesResponse:
    """Return the matches in a scope; calls the embedding model.

    Raises:
        InvalidArgument: the scope names no user though sessions are included; the filter, model or
            counter is invalid.
    """
    counter = await check_names(resources, request)
    _check_user(request)
    async with resources.db.snapshot() as session:
        engine = name_of(await engines.get(session, name))
    findings, searched = Findings(facts=await _facts(resources, name, request)), None
    if request.include_sessions:
        matches = await _in_sessions(resources, name, request, is_given_up)
        findings, searched = replace(findings, hits=matches.hits), matches.searched
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
    is_listed = request.mode is RecallMode.EXTRACTIVE
    most = request.top_k if is_listed else min(request.top_k * MORE, MAX_COUNT)
    asked = RetrieveMemoriesRequest(
        scope=request.scope,
        similarity_search_params=SimilaritySearchParams(search_query=request.query, top_k=most),
        filter=request.filter,
        filter_groups=request.filter_groups,
    )
    retrieved = await retrieval.retrieve(resources, name, asked)
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
