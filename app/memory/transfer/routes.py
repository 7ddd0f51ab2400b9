"""Routes of archives; these methods are additions of this service."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response, StreamingResponse

from app.adapters.db.session import Session
from app.kernel.auth import Caller
from app.kernel.changes import IdempotencyKey, digest_of
from app.kernel.errors import InvalidArgument, Reason, ServiceError
from app.kernel.permissions import Permission
from app.memory.transfer.logic.format import MEDIA_TYPE, NDJSON_TYPE
from app.memory.transfer.schemas import RestoreReasoningEngineResponse
from app.memory.transfer.services import exports
from app.memory.transfer.services.exports import ExportOptions
from app.memory.transfer.services.restore import Restore, RestoreRequest
from app.web.admission import Gate, audited
from app.web.body import media_type, pieces
from app.web.context import Context
from app.web.demands import WORK, Demand, change
from app.web.names import EnginePath
from app.web.paths import ENGINE
from app.web.routing import Router

_EXPORT = "exportReasoningEngine"
_FINISHED = "engines.export"
"""Kind of the audit event for the end of an export."""
_RESTORE = "restoreReasoningEngine"
_RESTORED = "engines.restore"
"""Kind of the audit event for the end of a restore."""
# Each further block is charged the same amount.
_RESTORE_DEMAND = change(
    Permission.ENGINES_RESTORE, WORK, is_costly=True, is_streamed=True, even_restoring=True
)
router = Router(
    "engines",
    demands={
        _EXPORT: Demand(Permission.ENGINES_EXPORT, WORK, is_costly=True),
        _RESTORE: _RESTORE_DEMAND,
    },
)
_TYPES = frozenset({MEDIA_TYPE, "application/x-gzip", NDJSON_TYPE, "application/octet-stream"})

_DESCRIPTIONS = {
    "vectors": "True: with the vectors of memories.",
    "artifacts": "False: without the artifacts of task memory.",
    "sessions": "False: without sessions, their events, summaries and states.",
}


@router.get(
    ENGINE + ":export",
    summary="Export an engine",
    operation_id=_EXPORT,
    response_class=Response,
    responses={
        200: {
            "description": "An archive of the format `open-memory-bank/1`: gzip of NDJSON."
            " Without a trailer as its last line, it is incomplete.",
            "content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def export_engine(
    request: Request,
    context: Context,
    engine: EnginePath,
    *,
    vectors: Annotated[bool, Query(description=_DESCRIPTIONS["vectors"])] = False,
    artifacts: Annotated[bool, Query(description=_DESCRIPTIONS["artifacts"])] = True,
    sessions: Annotated[bool, Query(description=_DESCRIPTIONS["sessions"])] = True,
) -> Response:
    """Export an engine as it is at one moment, with all revisions, as an archive.

    The archive has personal data in clear. Bytes of sensitive artifacts are in it if the key has
    `artifacts.content`.
    """
    gate: Gate = request.app.state.gate
    name = await exports.find(context.resources, engine)
    event = audited(request, _EXPORT, name)

    async def ended(error: ServiceError | None) -> None:
        await gate.auditor.record_alone(replace(event, method=_FINISHED), error)

    parts = exports.export(
        context.resources,
        name,
        ExportOptions(vectors, artifacts, sessions),
        ended,
        reads_sensitive=context.caller.may(Permission.ARTIFACTS_CONTENT),
    )
    # Read before the response starts, while an error can still set the status code.
    first = await anext(parts)
    await gate.auditor.record_alone(event, None)

    async def body() -> AsyncIterator[bytes]:
        yield first
        async for part in parts:
            yield part

    now = context.resources.clock.now()
    file = f"{name.engine}-{now:%Y%m%dT%H%M%SZ}.omb.gz"
    headers = {"Content-Disposition": f'attachment; filename="{file}"'}
    return StreamingResponse(body(), media_type=MEDIA_TYPE, headers=headers)


@router.post(
    ENGINE + ":restore",
    summary="Restore an engine",
    operation_id=_RESTORE,
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "An archive, as `exportReasoningEngine` returns it, or its"
            " uncompressed lines.",
            "content": {
                MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}},
                NDJSON_TYPE: {"schema": {"type": "string"}},
            },
        }
    },
)
async def restore_engine(
    request: Request,
    context: Context,
    engine: EnginePath,
    extend_recovery: Annotated[
        bool | None,
        Query(
            alias="extendRecovery",
            description="True: deleted memories that could be recovered at the export can be for"
            " as long as then.",
        ),
    ] = None,
) -> RestoreReasoningEngineResponse:
    """Fill an empty engine from an archive; its configuration replaces the engine's.

    Until the end, the engine serves only get, delete and this method. If the restore is
    interrupted, send the same archive again from its start: the restore continues where it stopped.
    """
    declared = request.headers.get("content-type")
    if declared is not None and media_type(declared) not in _TYPES:
        message = f"Content-Type: must be {MEDIA_TYPE} or {NDJSON_TYPE}."
        raise InvalidArgument(message, Reason.CONTENT_TYPE_NOT_JSON, http=415)
    gate: Gate = request.app.state.gate
    caller: Caller = request.state.caller
    keep = timedelta(seconds=context.resources.settings.idempotency_seconds)

    def once(archive_id: str) -> IdempotencyKey:
        named = f"{_RESTORE}/{archive_id}"
        return IdempotencyKey(caller.identity, named, digest_of(named), keep)

    event = replace(request.state.audited, method=_RESTORED)

    async def record_end(session: Session) -> None:
        await gate.auditor.record(session, event)

    charge = partial(gate.charge_part, caller, engine.engine, _RESTORE_DEMAND.cost)
    wanted = RestoreRequest(engine, bool(extend_recovery), caller.reach, once, record_end)
    return await Restore(context.resources, wanted, charge).run(pieces(request))
