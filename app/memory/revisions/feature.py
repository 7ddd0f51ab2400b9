"""Registers revisions."""

from functools import partial

from app.adapters.resources import Archived
from app.memory.revisions.routes import router
from app.memory.revisions.schemas import (
    ArchivedRevision,
    RollbackMemoryResponse,
    StoredRollbackPreview,
)
from app.memory.revisions.service import PREVIEW, read_preview
from app.web.feature import Feature

FEATURE = Feature(
    "revisions",
    routers=(router,),
    kinds=("memories.rollback",),
    answers={"RollbackMemoryResponse": RollbackMemoryResponse},
    archived=Archived({"revision": ArchivedRevision}, {PREVIEW: StoredRollbackPreview}),
    response_readers={PREVIEW: lambda resources: partial(read_preview, clock=resources.clock)},
)
