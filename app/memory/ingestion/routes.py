"""Routes of ingestion. Source: wire specification, section 9; streams are additions."""

from app.kernel.limits import Counted
from app.kernel.permissions import Permission
from app.memory.ingestion import service as ingestion
from app.memory.ingestion.schemas import (
    FlushStreamRequest,
    IngestEventsRequest,
    ListStreamsResponse,
)
from app.memory.ingestion.service import IngestionService
from app.platform.operations.schemas import Operation
from app.web.context import Context, Mutation
from app.web.demands import CONVERSATION, LIST, WRITE, Demand, change
from app.web.names import EnginePath
from app.web.paths import ENGINE
from app.web.query import Filter, Page
from app.web.routing import Router

router = Router(
    "generation",
    demands={
        "ingestEvents": change(
            Permission.MEMORIES_INGEST,
            WRITE,
            # Events now, and memories after generation.
            adds=(Counted.EVENTS, Counted.MEMORIES),
            is_costly=True,
        ).with_said(CONVERSATION),
        "listStreams": Demand(Permission.OPERATIONS_LIST, LIST),
        "flushStream": change(
            Permission.MEMORIES_INGEST, WRITE, adds=(Counted.MEMORIES,), is_costly=True
        ),
    },
)


# The API also defines this method under `memoryBanks`, without `/memories`.
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
    service = IngestionService(context.resources)
    return Operation.from_row(await service.ingest(engine, body, context.once(body.sent)))


@router.get(ENGINE + "/streams", summary="List streams", operation_id="listStreams")
async def list_streams(
    context: Context,
    engine: EnginePath,
    page: Page,
    filter: Filter = None,  # noqa: A002 - the name on the wire
) -> ListStreamsResponse:
    """List the streams of ingestion, latest arrival first, without the content of their events.

    Filter by `scope`, `scope."key"`, `stream_id`, `pending_count`, `failure_count`,
    `last_arrival_time` and `oldest_pending_time`.
    """
    return await ingestion.list_streams(context.resources, engine, filter, page)


@router.post(ENGINE + "/streams:flush", summary="Flush a stream", operation_id="flushStream")
async def flush_stream(
    context: Mutation, engine: EnginePath, body: FlushStreamRequest
) -> Operation:
    """Process all waiting events of a stream at once, including events that were set aside.

    Returns the operation of the stream; it is done if no event waits. The stream keeps its rule.
    """
    service = IngestionService(context.resources)
    return Operation.from_row(await service.flush(engine, body, context.once(body.sent())))
