"""The route of the state of the whole service; this service's own."""

from app.kernel.permissions import Permission
from app.platform.processes.schemas import ServerInfo
from app.platform.processes.service import read_server
from app.web.context import Context
from app.web.demands import Demand
from app.web.paths import SERVICE
from app.web.routing import Router

router = Router(
    "service",
    demands={
        "getServer": Demand(Permission.SERVER_GET),
    },
)


@router.get(SERVICE + "/server", summary="Get the server", operation_id="getServer")
async def get_server(context: Context) -> ServerInfo:
    """Return releases, models, settings, live processes, and the queue of all engines.

    Without the database, its parts are absent and `database.error` is set. Secrets are never shown.
    """
    return await read_server(context.resources)
