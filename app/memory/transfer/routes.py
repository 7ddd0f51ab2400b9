"""Routes of archives; the methods are this service's own."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response, StreamingResponse

from app.kernel.errors import ServiceError
from app.kernel.permissions import Permission
from app.memory.transfer.logic.format import MEDIA_TYPE
from app.memory.transfer.services.exports import EngineExports
from app.memory.transfer.services.writing import ExportOptions
from app.web.admission import Gate, audited
from app.web.context import Context
from app.web.demands import WORK, Demand
from app.web.names import EnginePath
from app.web.paths import ENGINE
from app.web.routing import Router

_EXPORT = "exportReasoningEngine"
_FINISHED = "engines.export"
"""The kind of the event that records the end of an export."""
router = Router(
    "engines",
    demands={_EXPORT: Demand(Permission.ENGINES_EXPORT, WORK, is_costly=True)},
)

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
            " Without a trailer as its last line it is not whole.",
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
    service = EngineExports.of(context.resources)
    gate: Gate = request.app.state.gate
    name = await service.find(engine)
    event = audited(request, _EXPORT, name)

    async def ended(error: ServiceError | None) -> None:
        await gate.auditor.record_alone(replace(event, method=_FINISHED), error)

    parts = service.export(
        name,
        ExportOptions(vectors, artifacts, sessions),
        ended,
        reads_sensitive=context.caller.may(Permission.ARTIFACTS_CONTENT),
    )
    # Read here, so that a refusal is still an error answer.
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
