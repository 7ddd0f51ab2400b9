"""Route of recall; the method is this service's own."""

from fastapi import Request

from app.conversation.recall.schemas import RecallMode, RecallRequest, RecallResponse
from app.conversation.recall.services.recall import RecallService
from app.kernel.permissions import Permission
from app.web.context import Context
from app.web.demands import WORK, Demand
from app.web.names import SessionPath
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router(
    "contexts",
    demands={
        "recallSession": Demand(Permission.EVENTS_LIST, WORK, is_costly=True),
    },
)


@router.post(ENGINE + "/sessions/{session}:recall", summary="Recall", operation_id="recallSession")
async def recall_session(
    context: Context, name: SessionPath, body: RecallRequest, request: Request
) -> RecallResponse:
    """Search a session: passages word for word, or an answer made from them.

    The search compares words, not meanings. An answer lists the events that it rests on; without a
    matching passage, no model is called. An answer also needs the permission to update sessions.
    Erased and cleared events are not searched. The search covers the newest events, as many as fit
    into about two seconds; the response reports the range.
    """
    if body.mode is RecallMode.SUMMARY:
        context.require(Permission.SESSIONS_UPDATE)
    return await RecallService(context.resources).recall(name, body, request.is_disconnected)
