"""Routes of recall; the methods are this service's own."""

from fastapi import Request

from app.conversation.recall.schemas import (
    RecallMemoriesRequest,
    RecallMemoriesResponse,
    RecallMode,
    RecallRequest,
    RecallResponse,
    RecallSessionsRequest,
    RecallSessionsResponse,
)
from app.conversation.recall.services import recall
from app.kernel.permissions import Permission
from app.web.context import Context
from app.web.demands import WORK, Demand
from app.web.names import EnginePath, SessionPath
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router(
    "contexts",
    demands={
        "recallSessions": Demand(Permission.EVENTS_LIST, WORK, is_costly=True),
        "recallSession": Demand(Permission.EVENTS_LIST, WORK, is_costly=True),
        "recallMemories": Demand(Permission.MEMORIES_RETRIEVE, WORK, is_costly=True),
    },
)


# Must precede the route of one session, since its path also matches.
@router.post(
    ENGINE + "/sessions/-:recall",
    summary="Recall from all sessions of a user",
    operation_id="recallSessions",
)
async def recall_sessions(
    context: Context, engine: EnginePath, body: RecallSessionsRequest, request: Request
) -> RecallSessionsResponse:
    """Search all sessions of a user: passages word for word, or an answer made from them.

    The search begins with the last created session, and in each with its newest event, for about
    three seconds. `nextPageToken` continues with the others. As in one session, it compares words,
    skips cleared and erased events, and an answer also needs the permission to update sessions. A
    user outside the key's reach has no sessions.
    """
    if body.mode is RecallMode.SUMMARY:
        context.require(Permission.SESSIONS_UPDATE)
    resources, conditions = context.resources, context.caller.reach.conditions
    return await recall.recall_sessions(
        resources, engine, body, conditions, request.is_disconnected
    )


@router.post(ENGINE + "/sessions/{session}:recall", summary="Recall", operation_id="recallSession")
async def recall_session(
    context: Context, name: SessionPath, body: RecallRequest, request: Request
) -> RecallResponse:
    """Search a session: passages word for word, or an answer made from them.

    The search compares words, not meanings. An answer lists its source events; without a matching
    passage, no model is called. An answer also needs the permission to update sessions. Erased and
    cleared events are not searched. The search covers the newest events, for about two seconds; the
    response reports the range.
    """
    if body.mode is RecallMode.SUMMARY:
        context.require(Permission.SESSIONS_UPDATE)
    return await recall.recall_session(context.resources, name, body, request.is_disconnected)


@router.post(
    ENGINE + "/memories:recall",
    summary="Recall from the memories of a scope",
    operation_id="recallMemories",
)
async def recall_memories(
    context: Context, engine: EnginePath, body: RecallMemoriesRequest, request: Request
) -> RecallMemoriesResponse:
    """Search the memories of a scope: the nearest facts, or an answer made from them.

    With `includeSessions`, the sessions of the scope's user are searched as well; this needs the
    permission to list events. Facts come first: their distance and the score of a passage cannot be
    compared. An answer names its source memories and events. It also needs the permission to
    generate memories, since it may spend the engine's tokens.
    """
    if body.include_sessions:
        context.require(Permission.EVENTS_LIST)
    if body.mode is RecallMode.SUMMARY:
        context.require(Permission.MEMORIES_GENERATE)
    return await recall.recall_memories(context.resources, engine, body, request.is_disconnected)
