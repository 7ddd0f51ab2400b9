"""Registers bulk."""

from app.memory.bulk.routes import router
from app.memory.bulk.services.bulk import BATCH_CREATE, BulkService
from app.web.feature import Feature

FEATURE = Feature(
    "bulk",
    routers=(router,),
    response_readers={BATCH_CREATE: lambda resources: BulkService.of(resources).read_response},
)
