"""Routes of bulk creation."""

from datetime import timedelta
from functools import partial
from typing import Annotated

from fastapi import Query, Request

from app.kernel.auth import Caller
from app.kernel.changes import IdempotencyKey, digest_of
from app.kernel.errors import InvalidArgument, Reason
from app.kernel.limits import Counted
from app.kernel.permissions import Permission
from app.memory.bulk.schemas import (
    MAX_ERRORS,
    MIN_ERRORS,
    BatchCreateMemoriesRequest,
    ImportMemoriesResponse,
)
from app.memory.bulk.services.bulk import BulkService, ImportOptions
from app.memory.bulk.services.work import Import
from app.platform.operations.schemas import Operation
from app.platform.operations.services.operations import OperationService
from app.web.admission import Gate
from app.web.answers import MEDIA_TYPE
from app.web.body import media_type, pieces
from app.web.context import MAX_REQUEST_ID_CHARS, Context, Mutation, RequestContext
from app.web.demands import WORK, change
from app.web.names import EnginePath
from app.web.paths import ENGINE
from app.web.routing import Router

_IMPORT = "importMemories"
# Each further chunk is charged the same amount.
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

_ImportId = Annotated[
    str | None,
    Query(
        alias="importId",
        description="Id of an import of several requests. Requests with the same id, of one"
        " caller and within 24 hours of the first, are one operation, which can be undone as a"
        " whole.",
        json_schema_extra={"maxLength": MAX_REQUEST_ID_CHARS},
    ),
]
_Overwrite = Annotated[
    bool | None,
    Query(
        description="True: existing memories with other content get the content of their lines;"
        " needs `memories.update`. Otherwise they stay unchanged."
    ),
]
_ValidateOnly = Annotated[
    bool | None,
    Query(
        alias="validateOnly",
        description="True: nothing is written, and the counts are what an import would do now. Each"
        " line is taken by itself: one that repeats the id of an earlier line counts like it.",
    ),
]
_MaxErrors = Annotated[
    int,
    Query(
        alias="maxErrors",
        ge=MIN_ERRORS,
        le=MAX_ERRORS,
        description="Maximum number of failed lines that are listed.",
    ),
]
_TYPES = (MEDIA_TYPE, "application/ndjson", "application/jsonl", "application/json")
"""Accepted media types; a single line is plain JSON as well."""


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
            "description": "One memory a line, as for `createMemory`, with or without `memoryId`,"
            " `createTime` and `updateTime`.",
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
    request: Request,
    context: Context,
    engine: EnginePath,
    import_id: _ImportId = None,
    overwrite: _Overwrite = None,
    validate_only: _ValidateOnly = None,
    max_errors: _MaxErrors = MIN_ERRORS,
) -> ImportMemoriesResponse:
    """Store memories as they are given, from a body of any length, as it arrives.

    An unreadable line does not stop the others. A line is skipped if its memory exists, under the
    same `memoryId` and with the same content. So an interrupted import can be sent again. If the
    memory is deleted and recoverable, the line restores it, with `memories.rollback`. `createTime`
    and `updateTime` are kept with `memories.import`; without it such a line fails.
    """
    if overwrite:
        context.require(Permission.MEMORIES_UPDATE)
    options = ImportOptions(
        work=_shared(context, import_id),
        overwrite=bool(overwrite),
        validate_only=bool(validate_only),
        max_errors=max_errors,
        may_set_times=context.caller.may(Permission.MEMORIES_IMPORT),
        may_restore=context.caller.may(Permission.MEMORIES_ROLLBACK),
    )
    if media_type(request.headers.get("content-type")) not in _TYPES:
        message = f"Content-Type: must be {MEDIA_TYPE}."
        raise InvalidArgument(message, Reason.CONTENT_TYPE_NOT_JSON, http=415)
    gate: Gate = request.app.state.gate
    caller: Caller = request.state.caller
    importing = Import(
        BulkService.of(context.resources),
        engine,
        partial(gate.charge_part, caller, engine.engine, _IMPORT_DEMAND.cost),
        options,
    )
    return await importing.run(pieces(request))


def _shared(context: RequestContext, import_id: str | None) -> IdempotencyKey | None:
    """Return the key of the operation that requests with an import id share."""
    # Generated clients send an empty id if the caller gives none.
    if not import_id:
        return None
    if not (import_id.isprintable() and len(import_id) <= MAX_REQUEST_ID_CHARS):
        raise InvalidArgument.of_field(
            "importId", f"must have at most {MAX_REQUEST_ID_CHARS} printable characters."
        )
    return IdempotencyKey(
        caller=context.caller.identity,
        # Request ids cannot contain a line break, so this key never equals one of them.
        request_id=f"{_IMPORT}\n{import_id}",
        request_hash=digest_of(_IMPORT),
        keep=timedelta(seconds=context.resources.settings.idempotency_seconds),
    )
