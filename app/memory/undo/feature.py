"""Registers undo."""

from collections.abc import Mapping

from app.adapters.resources import Retry
from app.kernel.permissions import Permission
from app.memory.undo.routes import router
from app.memory.undo.schemas import UndoOperationResponse
from app.memory.undo.service import UNDO, retry
from app.web.feature import Feature, JobFunction


def _jobs() -> Mapping[str, JobFunction]:
    from app.memory.undo import jobs  # noqa: PLC0415 - for workers

    return {UNDO: jobs.undo}


FEATURE = Feature(
    "undo",
    routers=(router,),
    answers={"UndoOperationResponse": UndoOperationResponse},
    kinds=(UNDO,),
    jobs=_jobs,
    retries={UNDO: Retry(Permission.OPERATIONS_UNDO, retry)},
)
