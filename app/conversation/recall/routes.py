"""The route of recall; the method is this service's own."""

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
    """Find again what was said in a session: passages word for word, or an answer made of them.

    Words are compared, not meanings. Of an answer the events are told that it rests on; without
    anything to rest on, no model is asked; an answer needs the permission to update sessions, too.
    What was erased or cleared is not found. The newest events are searched, as many as can be in
    about two seconds: the answer says which.
    """
    if body.mode is RecallMode.SUMMARY:
        context.require(Permission.SESSIONS_UPDATE)
    return await RecallService(context.resources).recall(name, body, request.is_disconnected)
