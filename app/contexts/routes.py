"""Routes of contexts; the methods are this service's own."""

from hashlib import sha256
from typing import Annotated

from fastapi import Header, Query, Request, Response

from app.contexts.history import HistoryService
from app.contexts.listing import ListSummariesResponse, SessionSummary, SessionUsage
from app.contexts.repository import State
from app.contexts.schemas import (
    ComposeContextRequest,
    ContextResponse,
)
from app.contexts.service import ContextService
from app.core.permissions import Permission
from app.operations.schemas import Operation
from app.operations.service import OperationService
from app.sessions.schemas import Session
from app.web.context import Context, Mutation
from app.web.names import SessionPath, SummaryPath
from app.web.paging import Page
from app.web.paths import ENGINE
from app.web.routing import Router
from app.wire.scalars import one_of

router = Router("contexts")


_SESSION = ENGINE + "/sessions/{session}"


@router.post(
    _SESSION + ":context",
    summary="Compose a context",
    operation_id="composeContext",
    response_model=ContextResponse,
    responses={304: {"description": "The context is the one that `If-None-Match` names."}},
)
async def compose_context(
    request: Request,
    context: Context,
    name: SessionPath,
    body: ComposeContextRequest | None = None,
    if_none_match: Annotated[
        str | None, Header(description="The `ETag` of an answer; the same again is 304.")
    ] = None,
) -> Response:
    """Compose what a prompt shows of a session, within its token limit, and account for all of it.

    In this order: the system prompt, summaries (oldest first), events, memories, the pending
    message. Where there is too little room, memories are left out first, then the oldest events,
    then the oldest summaries. No event is changed; summaries that are due are asked for. The same
    state gives the same bytes. Memories need the permission to retrieve them as well.
    """
    asked = body or ComposeContextRequest()
    if asked.include_memories is not None:
        context.require(Permission.MEMORIES_RETRIEVE)
    service = ContextService.of(context.resources)
    content = await service.compose(name, asked, request.is_disconnected)
    etag = f'"{sha256(content).hexdigest()[:32]}"'
    if _is_named(etag, if_none_match):
        return Response(status_code=304, headers={"ETag": etag})
    return Response(content, media_type="application/json", headers={"ETag": etag})


def _is_named(etag: str, if_none_match: str | None) -> bool:
    named = [one.strip().removeprefix("W/") for one in (if_none_match or "").split(",")]
    return etag in named or "*" in named


_SUMMARIES = _SESSION + "/summaries"
_SUMMARY = _SUMMARIES + "/{summary}"


@router.post(_SESSION + ":clear", summary="Clear a session's contexts", operation_id="clearSession")
async def clear_session(context: Mutation, name: SessionPath) -> Session:
    """Let contexts begin anew after the last event: what was said so far is in none of them.

    The events can still be read. Summaries give way, and exchanges are counted from here on.
    """
    return await HistoryService.of(context.resources).clear(name, context.once({}))


@router.get(_SUMMARIES, summary="List summaries", operation_id="listSummaries")
async def list_summaries(
    context: Context,
    name: SessionPath,
    page: Page,
    state: Annotated[
        Annotated[State, one_of(State)] | None, Query(description="Only those in this state.")
    ] = None,
    policy_key: Annotated[
        str | None, Query(alias="policyKey", description="Only those of this policy.")
    ] = None,
) -> ListSummariesResponse:
    """List the summaries of a session, oldest first: of all policies and in all states."""
    service = HistoryService.of(context.resources)
    return await service.list_page(name, state, policy_key, page)


@router.get(_SUMMARY, summary="Get a summary", operation_id="getSummary")
async def get_summary(context: Context, name: SummaryPath) -> SessionSummary:
    """Return a summary, with what it was made of and what it took."""
    return await HistoryService.of(context.resources).get(name)


@router.post(
    _SUMMARY + ":regenerate", summary="Make a summary again", operation_id="regenerateSummary"
)
async def regenerate_summary(context: Mutation, name: SummaryPath) -> Operation:
    """Have a new version of an active summary made, of the same events, which takes its place."""
    row = await HistoryService.of(context.resources).regenerate(name, context.once({}))
    return await OperationService.of(context.resources).render(row)


@router.get(_SESSION + "/usage", summary="Sum up a session's usage", operation_id="getSessionUsage")
async def get_session_usage(context: Context, name: SessionPath) -> SessionUsage:
    """Return what the summaries of a session took, by model, failed attempts as well."""
    return await HistoryService.of(context.resources).usage(name)
