"""Route of finding; this method is an addition of this service."""

from app.kernel.permissions import Permission
from app.memory.finding import service
from app.memory.finding.schemas import FindResourcesRequest, FindResourcesResponse
from app.web.context import Context
from app.web.demands import SEARCH, Demand
from app.web.names import EnginePath
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router(
    "engines",
    # And the permission to get each kind of resource.
    demands={"findResources": Demand(Permission.ENGINES_GET, SEARCH)},
)


@router.post(
    ENGINE + "/resources:find", summary="Find what a text names", operation_id="findResources"
)
async def find_resources(
    context: Context, name: EnginePath, body: FindResourcesRequest
) -> FindResourcesResponse:
    """Find what a text names: a resource by its id or full name, or a scope by one of its values.

    If no name is found, the last digits of the id of a memory, revision, operation or session find
    it, at least 6 of them; `…` before them is ignored.
    Kinds that the key may not get are left out, as is all that is out of its reach.
    """
    return await service.find(context.resources, context.caller, name, body.text)
