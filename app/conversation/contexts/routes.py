"""Routes of contexts; the method is this service's own."""

from hashlib import sha256
from typing import Annotated

from fastapi import Header, Request, Response

from app.conversation.contexts.schemas import ComposeContextRequest, ContextResponse
from app.conversation.contexts.services.contexts import ContextComposer
from app.kernel.permissions import Permission
from app.web.context import Context
from app.web.demands import SEARCH, Demand
from app.web.names import SessionPath
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router(
    "contexts",
    demands={
        # It may enqueue summaries, which requires another permission; it changes no event.
        "composeContext": Demand(Permission.EVENTS_LIST, SEARCH, is_costly=True),
    },
)


@router.post(
    ENGINE + "/sessions/{session}:context",
    summary="Compose a context",
    operation_id="composeContext",
    response_model=ContextResponse,
    responses={304: {"description": "The context is unchanged: its ETag equals `If-None-Match`."}},
)
async def compose_context(
    request: Request,
    context: Context,
    name: SessionPath,
    body: ComposeContextRequest | None = None,
    if_none_match: Annotated[
        str | None,
        Header(description="`ETag` of an earlier response; 304 if unchanged. `*` has no meaning."),
    ] = None,
) -> Response:
    """Compose a prompt's view of a session within its token limit, and account for every event.

    The order is: system prompt, content of former sessions (`carryOver`), summaries (oldest first),
    events, memories, pending message. If the budget is too small, memories are left out first, then
    content of former sessions, then the oldest events, then the oldest summaries. No event is
    changed; due summaries are enqueued. The same state gives the same bytes. The call also needs
    the permission to update sessions, since it may enqueue summaries, and with memories the
    permission to retrieve them. With `preview`, nothing is enqueued, and the permission to update
    sessions is not needed.
    """
    asked = body or ComposeContextRequest()
    if not asked.preview:
        context.require(Permission.SESSIONS_UPDATE)
    if asked.include_memories is not None:
        context.require(Permission.MEMORIES_RETRIEVE)
    composer = ContextComposer(context.resources, name, asked, request.is_disconnected)
    content = await composer.compose()
    etag = f'"{sha256(content).hexdigest()[:32]}"'
    if _is_named(etag, if_none_match):
        return Response(status_code=304, headers={"ETag": etag})
    return Response(content, media_type="application/json", headers={"ETag": etag})


def _is_named(etag: str, if_none_match: str | None) -> bool:
    named = [tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")]
    return etag in named
