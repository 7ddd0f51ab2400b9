"""Route of ingestion. Source: wire specification, section 9."""

from app.kernel.limits import Counted
from app.kernel.permissions import Permission
from app.memory.ingestion.schemas import IngestEventsRequest
from app.memory.ingestion.services.ingestion import IngestionService
from app.platform.operations.schemas import Operation
from app.web.context import Mutation
from app.web.demands import WRITE, change
from app.web.names import EnginePath
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router(
    "generation",
    demands={
        "ingestEvents": change(
            Permission.MEMORIES_INGEST,
            WRITE,
            # Events now, memories later.
            adds=(Counted.EVENTS, Counted.MEMORIES),
            is_costly=True,
        ),
    },
)


# Under `memoryBanks` the API's definition has the method without `/memories`.
@router.post(ENGINE + ":ingestEvents", operation_id="ingestEvents", include_in_schema=False)
@router.post(
    ENGINE + "/memories:ingestEvents", summary="Ingest events", operation_id="ingestEvents"
)
async def ingest_events(
    context: Mutation, engine: EnginePath, body: IngestEventsRequest
) -> Operation:
    """Buffer events in a stream of a scope; its rule decides when they become memories.

    All requests on a stream get the same operation until its events have become memories; its
    response then names the operation of that generation.
    """
    service = IngestionService.of(context.resources)
    return Operation.from_row(await service.ingest(engine, body, context.once(body.sent)))
