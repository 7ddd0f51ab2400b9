"""Registers undo."""

from app.adapters.resources import Retry
from app.kernel.permissions import Permission
from app.memory.undo import jobs
from app.memory.undo.routes import router
from app.memory.undo.schemas import UndoOperationResponse
from app.memory.undo.services.undo import UNDO, retry
from app.web.feature import Feature

FEATURE = Feature(
    "undo",
    routers=(router,),
    answers={"UndoOperationResponse": UndoOperationResponse},
    jobs={UNDO: jobs.undo},
    retries={UNDO: Retry(Permission.OPERATIONS_UNDO, retry)},
)
