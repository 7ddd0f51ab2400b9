"""Screen 3: overview of an engine with its usage, failures, work in progress and deletions."""

import asyncio
from datetime import datetime, timedelta

from starlette.responses import Response

from app.kernel.permissions import Permission
from app.surfaces import filters
from app.surfaces.api import ApiRefusal, Json, Query
from app.surfaces.console.pages import server, streams, usage
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import ENGINE, ROWS, Route, Visit

_SHOWN = 5


async def show(visit: Visit) -> Response:
    """Show an engine; parts are omitted if the key may not see them or their call fails."""
    days = _days(visit.now)
    span = [("startDay", days[0]), ("endDay", days[-1])]
    (engine, used, state), (failed, running, resting, deleted) = await asyncio.gather(
        asyncio.gather(
            _engine(visit), _part(visit, ":usage", Permission.USAGE_GET, span), _server(visit)
        ),
        asyncio.gather(
            _some(visit, "/operations", f"state={filters.quoted('FAILED')}"),
            _some(visit, "/operations", "done=false"),
            _some(visit, "/streams", streams.FAILING),
            _deleted(visit),
        ),
    )
    return visit.render(
        "overview.html",
        title=engine["displayName"] or f"{TEXTS.engine} {visit.engine}",
        used=used,
        quotas=usage.QUOTAS,
        charts=usage.bars_of(used["usage"], days) if used else {},
        work=[
            (TEXTS.overview_failed, "state=FAILED", failed or Json()),
            (TEXTS.overview_running, "done=false", running or Json()),
        ],
        streams=resting,
        is_calm=_is_calm(failed, running, resting),
        deleted=_count(deleted),
        server=state,
        findings=server.findings(state, visit.now) if state else [],
    )


async def _engine(visit: Visit) -> Json:
    """Return the engine, empty without permission; a refusal of the API becomes an error page."""
    if not visit.may(Permission.ENGINES_GET):
        return Json()
    return await visit.api.get(visit.engine_path)


async def _part(visit: Visit, below: str, permission: Permission, query: Query = ()) -> Json | None:
    if not visit.may(permission):
        return None
    return await _answered(visit, visit.engine_path + below, query)


async def _answered(visit: Visit, path: str, query: Query = ()) -> Json | None:
    try:
        return await visit.api.get(path, query)
    except ApiRefusal:
        return None


async def _some(visit: Visit, below: str, chosen: str) -> Json | None:
    query = [("pageSize", str(_SHOWN)), ("filter", chosen)]
    return await _part(visit, below, Permission.OPERATIONS_LIST, query)


async def _deleted(visit: Visit) -> Json | None:
    if not visit.may(Permission.REVISIONS_LIST):
        return None
    query = [("pageSize", str(ROWS)), ("showDeleted", "true"), ("filter", "delete_time:*")]
    return await _part(visit, "/memories", Permission.MEMORIES_LIST, query)


async def _server(visit: Visit) -> Json | None:
    return await _answered(visit, server.PATH) if visit.may(Permission.SERVER_GET) else None


def _days(now: datetime) -> list[str]:
    first = now.date() - timedelta(days=usage.DAYS - 1)
    return [(first + timedelta(days=number)).isoformat() for number in range(usage.DAYS)]


def _is_calm(failed: Json | None, running: Json | None, resting: Json | None) -> bool:
    """Return True if the key may see all three lists and they are empty."""
    if failed is None or running is None or resting is None:
        return False
    return not (failed["operations"] or running["operations"] or resting["streams"])


def _count(deleted: Json | None) -> str | None:
    """Return the number of restorable memories in words; None: unknown."""
    if deleted is None:
        return None
    count = len(deleted["memories"])
    has_more = deleted["nextPageToken"] is not None
    words = TEXTS.overview_deleted_more if has_more else TEXTS.overview_deleted_count
    return str(words.format(count=count))


ROUTES = (Route(ENGINE, get=show),)
