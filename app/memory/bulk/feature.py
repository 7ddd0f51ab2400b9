"""Registers bulk."""

from app.adapters.resources import Archived
from app.memory.bulk.routes import router
from app.memory.bulk.schemas import AnsweredImport, BatchCreateMemoriesResponse, StoredBatch
from app.memory.bulk.services.bulk import BATCH_CREATE, BulkService
from app.memory.bulk.services.work import IMPORT
from app.web.feature import Feature

FEATURE = Feature(
    "bulk",
    routers=(router,),
    kinds=(BATCH_CREATE, IMPORT),
    answers={
        "BatchCreateMemoriesResponse": BatchCreateMemoriesResponse,
        "ImportMemoriesResponse": AnsweredImport,
    },
    archived=Archived(answers={BATCH_CREATE: StoredBatch}),
    response_readers={BATCH_CREATE: lambda resources: BulkService.of(resources).read_response},
)
