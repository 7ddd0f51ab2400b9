"""Routes of bulk creation."""

from fastapi import Request

from app.kernel.auth import Caller
from app.kernel.errors import InvalidArgument, Reason
from app.kernel.limits import Counted
from app.kernel.permissions import Permission
from app.memory.bulk.schemas import BatchCreateMemoriesRequest, ImportMemoriesResponse
from app.memory.bulk.services.bulk import BulkService
from app.memory.bulk.services.work import Import
from app.platform.operations.schemas import Operation
from app.platform.operations.services.operations import OperationService
from app.web.admission import Gate
from app.web.body import media_type, pieces
from app.web.context import Context, Mutation
from app.web.demands import WORK, change
from app.web.names import EnginePath
from app.web.ndjson import MEDIA_TYPE
from app.web.paths import ENGINE
from app.web.routing import Router

_IMPORT = "importMemories"
# A further chunk costs as much again.
_IMPORT_DEMAND = change(
    Permission.MEMORIES_CREATE,
    WORK,
    adds=(Counted.MEMORIES,),
    is_costly=True,
    is_streamed=True,
)
router = Router(
    "memories",
    demands={
        _IMPORT: _IMPORT_DEMAND,
        "batchCreateMemories": change(
            Permission.MEMORIES_CREATE, WORK, adds=(Counted.MEMORIES,), is_costly=True
        ),
    },
)

_TYPES = (MEDIA_TYPE, "application/ndjson", "application/jsonl", "application/json")
"""A single line is plain JSON, too."""


@router.post(
    ENGINE + "/memories:batchCreate",
    summary="Create memories at once",
    operation_id="batchCreateMemories",
)
async def batch_create_memories(
    context: Mutation, engine: EnginePath, body: BatchCreateMemoriesRequest
) -> Operation:
    """Store memories as they are given: all of them, or with `atomic: false` each that is valid."""
    once = context.once(body.sent)
    row = await BulkService.of(context.resources).batch_create(engine, body, once)
    return await OperationService.of(context.resources).render(row)


@router.post(
    ENGINE + "/memories:import",
    summary="Import memories",
    operation_id=_IMPORT,
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "One memory a line, as for `createMemory`, with or without `memoryId`.",
            "content": {
                MEDIA_TYPE: {
                    "schema": {"type": "string"},
                    "example": '{"fact": "I prefer a window seat.", "scope": {"user_id": "42"}}\n',
                }
            },
        }
    },
)
async def import_memories(
    request: Request, context: Context, engine: EnginePath
) -> ImportMemoriesResponse:
    """Store memories as they are given, from a body of any length, as it arrives.

    A line that cannot be read stops no other. Lines whose memories exist already, under their
    `memoryId` and with this content, are skipped: an import that broke off can be sent again.
    """
    if media_type(request.headers.get("content-type")) not in _TYPES:
        message = f"Content-Type: must be {MEDIA_TYPE}."
        raise InvalidArgument(message, Reason.CONTENT_TYPE_NOT_JSON, http=415)
    gate: Gate = request.app.state.gate
    caller: Caller = request.state.caller
    cost = _IMPORT_DEMAND.cost
    importing = Import(
        BulkService.of(context.resources),
        engine,
        lambda: gate.limits.charge(caller, engine.engine, cost),
    )
    return await importing.run(pieces(request))
