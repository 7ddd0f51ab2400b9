"""Screens 2 and 3: the engines that the user may access, and the overview of one."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from starlette.responses import Response

from app.kernel.permissions import Permission
from app.kernel.wire.scalars import format_timestamp
from app.surfaces import filters
from app.surfaces.api import Json
from app.surfaces.console.pages import operations, server, streams, usage
from app.surfaces.console.templating import last_part
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import ENGINE, ROWS, Route, Visit

_ROWS = 10
"""Rows of a page: each one costs a call, and a page may make at most twelve."""


async def show_all(visit: Visit) -> Response:
    """Show the engines with their usage."""
    answer = await visit.api.get("/v1beta1/reasoningEngines", visit.page_query(_ROWS))
    engines: list[Json] = answer["reasoningEngines"] or []
    uses: Sequence[Json | None] = [None] * len(engines)
    if visit.may(Permission.USAGE_GET):
        ids = [last_part(engine["name"]) for engine in engines]
        paths = [f"/v1beta1/reasoningEngines/{id_}:usage" for id_ in ids]
        uses = await asyncio.gather(*(visit.answered(path, usage.BY_MODEL) for path in paths))
    rows = [_row(engine, use) for engine, use in zip(engines, uses, strict=True)]
    return visit.render("engines.html", rows=rows, next_page=visit.next_page(answer))


def _row(engine: Json, use: Json | None) -> Json:
    spec = engine["contextSpec"] or Json()
    config = spec["memoryBankConfig"] or Json()
    return Json(
        id=last_part(engine["name"]),
        title=engine["displayName"],
        model=(config["generationConfig"] or Json())["model"],
        ranking=(config["similaritySearchConfig"] or Json())["ranking"],
        quotas=None if use is None else use["quotas"],
        writer=None if use is None else use["generation"]["model"],
        target=None if use is None else use["embedding"]["target"],
        used=use,
        change=usage.change_of(use, usage.DAYS),
    )


_SHOWN = 5
_LATEST = (("pageSize", str(_SHOWN)),)


async def show(visit: Visit) -> Response:
    """Show an engine; parts are omitted if the key may not see them or their call fails."""
    days = _days(visit.now)
    span = [("startDay", days[0]), ("endDay", days[-1])]
    (engine, used, state), (failed, running, resting, deleted, changed) = await asyncio.gather(
        asyncio.gather(
            visit.visible(Permission.ENGINES_GET, visit.engine_path),
            visit.part(Permission.USAGE_GET, f"{visit.engine_path}:usage", span),
            visit.part(Permission.SERVER_GET, server.PATH),
        ),
        asyncio.gather(
            _some(visit, "/operations", operations.FAILURES),
            _some(visit, "/operations", "done=false"),
            _some(visit, "/streams", streams.FAILING),
            _deleted(visit),
            visit.part(
                Permission.REVISIONS_LIST, f"{visit.engine_path}/memories/-/revisions", _LATEST
            ),
        ),
    )
    return visit.render(
        "overview.html",
        title=engine["displayName"] or f"{TEXTS.engine} {visit.engine}",
        used=used,
        quotas=usage.QUOTAS,
        charts=usage.bars_of(used["usage"], days) if used else {},
        change=usage.change_of(used, usage.DAYS),
        changes=None if changed is None else changed["memoryRevisions"] or [],
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


async def counts(visit: Visit) -> Response:
    """Show the counts at the side: what the engine holds, and what failed within a day."""
    day = filters.quoted(format_timestamp(visit.now - timedelta(days=1)))
    failed = [("filter", filters.all_of((operations.FAILURES, f"update_time>={day}")))]
    used, failures = await asyncio.gather(
        visit.part(Permission.USAGE_GET, f"{visit.engine_path}:usage"),
        visit.part(
            Permission.OPERATIONS_LIST, f"{visit.engine_path}/operations:groupFailures", failed
        ),
    )
    return visit.render("counts.html", used=used, failed=failures)


async def _some(visit: Visit, below: str, chosen: str) -> Json | None:
    query = [("pageSize", str(_SHOWN)), ("filter", chosen)]
    return await visit.part(Permission.OPERATIONS_LIST, visit.engine_path + below, query)


async def _deleted(visit: Visit) -> Json | None:
    if not visit.may(Permission.REVISIONS_LIST):
        return None
    query = [("pageSize", str(ROWS)), ("showDeleted", "true"), ("filter", "delete_time:*")]
    return await visit.part(Permission.MEMORIES_LIST, f"{visit.engine_path}/memories", query)


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


ROUTES = (
    Route("/console", get=show_all),
    Route(ENGINE, get=show),
    Route(f"{ENGINE}/counts", get=counts),
)
