"""Routes of removal. Source: wire specification, sections 10 and 12.1."""

from typing import Annotated

from fastapi import Query

from app.engines.schemas import DeleteEngineRequest
from app.operations.schemas import Operation
from app.retention.schemas import PurgeMemoriesRequest
from app.retention.service import RetentionService
from app.web.context import Mutation
from app.web.etag import IfMatch
from app.web.names import EnginePath
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router()


@router.post(
    ENGINE + "/memories:purge",
    summary="Purge memories",
    operation_id="purgeMemories",
    tags=["memories"],
)
async def purge_memories(
    context: Mutation, engine: EnginePath, body: PurgeMemoriesRequest
) -> Operation:
    """Delete the memories that match, of any scope; without `force`, count them."""
    once = context.once(body.sent())
    return Operation.from_row(
        await RetentionService.of(context.resources).purge(engine, body, once)
    )


@router.delete(
    ENGINE, summary="Delete an engine", operation_id="deleteReasoningEngine", tags=["engines"]
)
async def delete_engine(
    context: Mutation,
    name: EnginePath,
    body: DeleteEngineRequest | None = None,
    if_match: IfMatch = None,
    force: Annotated[
        bool | None, Query(description="Also delete everything that it holds.")
    ] = None,
) -> Operation:
    """Delete an engine.

    If it holds memories, sessions, waiting events or artifacts, `force` is required, in the query
    or in the body.
    """
    is_forced = bool(force) or (body is not None and body.force)
    once = context.once({"force": is_forced, "etag": if_match})
    service = RetentionService.of(context.resources)
    return Operation.from_row(await service.delete_engine(name, if_match, once, force=is_forced))
