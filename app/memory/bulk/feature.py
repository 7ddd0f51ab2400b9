"""Registers bulk."""

from app.memory.bulk.routes import router
from app.memory.bulk.schemas import AnsweredImport, BatchCreateMemoriesResponse
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
    response_readers={BATCH_CREATE: lambda resources: BulkService.of(resources).read_response},
)
