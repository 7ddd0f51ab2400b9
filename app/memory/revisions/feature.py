"""Registers revisions."""

from functools import partial

from app.memory.revisions.routes import router
from app.memory.revisions.schemas import RollbackMemoryResponse
from app.memory.revisions.service import PREVIEW, read_preview
from app.web.feature import Feature

FEATURE = Feature(
    "revisions",
    routers=(router,),
    kinds=("memories.rollback",),
    answers={"RollbackMemoryResponse": RollbackMemoryResponse},
    response_readers={PREVIEW: lambda resources: partial(read_preview, clock=resources.clock)},
)
