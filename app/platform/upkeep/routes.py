"""The route that deletes an engine. Source: wire specification, section 12.1."""

from typing import Annotated

from fastapi import Query

from app.kernel.permissions import Permission
from app.platform.engines.schemas import DeleteEngineRequest
from app.platform.operations.schemas import Operation
from app.platform.upkeep.service import UpkeepService
from app.web.context import Mutation
from app.web.demands import change
from app.web.headers import IfMatch
from app.web.names import EnginePath
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router(
    "engines",
    demands={"deleteReasoningEngine": change(Permission.ENGINES_DELETE, even_restoring=True)},
)


@router.delete(ENGINE, summary="Delete an engine", operation_id="deleteReasoningEngine")
async def delete_engine(
    context: Mutation,
    name: EnginePath,
    body: DeleteEngineRequest | None = None,
    if_match: IfMatch = None,
    force: Annotated[
        bool | None, Query(description="True: also delete the contents of the engine.")
    ] = None,
) -> Operation:
    """Delete an engine.

    An engine with memories, sessions, waiting events or artifacts needs `force`, here or in the
    body.
    """
    is_forced = bool(force) or (body is not None and body.force)
    once = context.once({"force": is_forced, "etag": if_match})
    service = UpkeepService(context.resources)
    return Operation.from_row(await service.delete_engine(name, if_match, once, force=is_forced))
