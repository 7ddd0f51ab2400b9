"""Search in all sessions of a user for verbatim passages, or for an answer made from them.

Model calls run outside any transaction.
"""

from datetime import datetime
from typing import Any

from app.adapters.db.filters import read_filter
from app.adapters.resources import Resources
from app.conversation.recall.logic.findings import Findings
from app.conversation.recall.logic.walking import SessionPlace
from app.conversation.recall.schemas import (
    RecallSessionsRequest,
    RecallSessionsResponse,
)
from app.conversation.recall.services.responses import check_names, names_of, recalled
from app.conversation.recall.services.searching import USER_KEY, SessionsQuery, SessionsSearch
from app.kernel.auth import Conditions
from app.kernel.errors import InvalidArgument
from app.kernel.names import EngineName
from app.kernel.paging import decode_token, encode_token, typed_key
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import name_of
from app.platform.operations.services.operations import GivenUp
from app.platform.sessions.store import repository as sessions


async def recall(
    resources: Resources,
    name: EngineName,
    request: RecallSessionsRequest,
    conditions: Conditions,
    is_given_up: GivenUp,
) -> RecallSessionsResponse:
    """Return the matches in a user's sessions, or none if the client has stopped waiting.

    `conditions` are the caller's access conditions, which may determine the user.

    Raises:
        InvalidArgument: the user is missing; the filter, page token, model or counter is
            invalid.
        NotFound: the engine does not exist.
        ResourceExhausted: the engine's token budget for today is used up.
        BadGateway: the model's reply cites none of the passages that it was given.
    """
    counter = await check_names(resources, request)
    token_query = {
        "list": "recallSessions",
        "engine": name.engine,
        "request": _lasting(request),
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
    found = await SessionsSearch(resources, wanted, is_given_up).run()
    place, next_token = found.place, None
    if place is not None:
        key = (place.create_time, place.session_id, place.seq)
        next_token = encode_token(token_query, key)
    result = await recalled(resources, engine, request, Findings(found.hits), counter)
    return RecallSessionsResponse(
        **result.fields,
        events=names_of(engine, result.sources),
        searched=found.searched,
        next_page_token=next_token,
    )


def _user_of(request: RecallSessionsRequest, conditions: Conditions) -> str:
    """Return the user that the request names, or the only user that the caller may access."""
    only = list(conditions.get(USER_KEY, ()))
    if request.user_id is not None:
        return request.user_id
    if len(only) != 1:
        raise InvalidArgument.of_field(
            "userId", "is required, unless the key is restricted to one user_id."
        )
    return only[0]


def _lasting(request: RecallSessionsRequest) -> dict[str, Any]:
    """Return the request without its page token; a token is valid only for the same request."""
    return request.model_copy(update={"page_token": None}).wire()


def _read_token(token: str | None, query: dict[str, Any]) -> SessionPlace | None:
    """Return the position stored in a page token.

    Raises:
        InvalidArgument: the token was not made for this request.
    """
    if not token:
        return None
    return SessionPlace(*typed_key(decode_token(token, query), datetime, str, int))
