"""Routes of summaries and their usage; the methods are this service's own."""

from typing import Annotated

from fastapi import Query

from app.conversation.summaries.schemas import ListSummariesResponse, SessionSummary, SessionUsage
from app.conversation.summaries.services import summaries
from app.conversation.summaries.store.repository import StoredSummaryState
from app.kernel.limits import Counted
from app.kernel.permissions import Permission
from app.kernel.wire.scalars import one_of
from app.platform.operations.schemas import Operation
from app.platform.operations.services.operations import OperationService
from app.platform.sessions.schemas.sessions import Session
from app.web.context import Context, Mutation
from app.web.demands import LIST, WORK, Demand, change
from app.web.names import SessionPath, SummaryPath
from app.web.paths import ENGINE
from app.web.query import Page
from app.web.routing import Router

router = Router(
    "contexts",
    demands={
        "clearSession": change(Permission.SESSIONS_UPDATE),
        # Summaries reveal the content of events.
        "listSummaries": Demand(Permission.EVENTS_LIST, LIST),
        "getSummary": Demand(Permission.EVENTS_LIST),
        "regenerateSummary": change(
            Permission.SESSIONS_UPDATE, WORK, adds=(Counted.BYTES,), is_costly=True
        ),
        "getSessionUsage": Demand(Permission.SESSIONS_GET, LIST),
    },
)

_SESSION = ENGINE + "/sessions/{session}"
_SUMMARIES = _SESSION + "/summaries"
_SUMMARY = _SUMMARIES + "/{summary}"


@router.post(_SESSION + ":clear", summary="Clear a session's contexts", operation_id="clearSession")
async def clear_session(context: Mutation, name: SessionPath) -> Session:
    """Start with an empty context after the last event; contexts no longer show earlier events.

    Earlier events can still be read. Summaries are superseded, and the count of exchanges restarts.
    """
    return await summaries.clear(context.resources, name, context.once({}))


@router.get(_SUMMARIES, summary="List summaries", operation_id="listSummaries")
async def list_summaries(
    context: Context,
    name: SessionPath,
    page: Page,
    state: Annotated[
        Annotated[StoredSummaryState, one_of(StoredSummaryState)] | None,
        Query(description="State of the summaries to list; absent: all."),
    ] = None,
    policy_key: Annotated[
        str | None,
        Query(
            alias="policyKey",
            description="Key of a policy: only its summaries are listed; absent: all.",
        ),
    ] = None,
) -> ListSummariesResponse:
    """List the summaries of a session, oldest first, for all policies and in all states."""
    return await summaries.list_summaries(context.resources, name, state, policy_key, page)


@router.get(_SUMMARY, summary="Get a summary", operation_id="getSummary")
async def get_summary(context: Context, name: SummaryPath) -> SessionSummary:
    """Return a summary, with its inputs and usage."""
    return await summaries.get(context.resources, name)


@router.post(
    _SUMMARY + ":regenerate", summary="Make a summary again", operation_id="regenerateSummary"
)
async def regenerate_summary(context: Mutation, name: SummaryPath) -> Operation:
    """Enqueue a new version of an active summary, from the same events, which replaces it."""
    row = await summaries.regenerate(context.resources, name, context.once({}))
    return await OperationService.of(context.resources).render(row)


@router.get(_SESSION + "/usage", summary="Sum up a session's usage", operation_id="getSessionUsage")
async def get_session_usage(context: Context, name: SessionPath) -> SessionUsage:
    """Return the usage of a session's summaries by model, failed attempts included."""
    return await summaries.usage(context.resources, name)
