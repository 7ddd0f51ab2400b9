"""Screen 2: the engines that the user may access."""

import asyncio

from starlette.responses import Response

from app.kernel.permissions import Permission
from app.surfaces.api import ApiRefusal, Json
from app.surfaces.console.templating import last_part
from app.surfaces.console.visits import Route, Visit

_ROWS = 10
"""Rows of a page: each one costs a call, and a page may make at most twelve."""


async def show(visit: Visit) -> Response:
    """Show the engines with their usage."""
    answer = await visit.api.get("/v1beta1/reasoningEngines", visit.page_query(_ROWS))
    engines: list[Json] = answer["reasoningEngines"] or []
    uses: list[Json | None] = [None] * len(engines)
    if visit.may(Permission.USAGE_GET):
        uses = list(await asyncio.gather(*(_usage(visit, engine) for engine in engines)))
    rows = [_row(engine, use) for engine, use in zip(engines, uses, strict=True)]
    return visit.render("engines.html", rows=rows, next_page=answer["nextPageToken"])


async def _usage(visit: Visit, engine: Json) -> Json | None:
    """Return an engine's usage; None if the API refuses, for example after its deletion."""
    try:
        return await visit.api.get(f"/v1beta1/reasoningEngines/{last_part(engine['name'])}:usage")
    except ApiRefusal:
        return None


def _row(engine: Json, use: Json | None) -> Json:
    spec = engine["contextSpec"] or Json()
    config = spec["memoryBankConfig"] or Json()
    return Json(
        id=last_part(engine["name"]),
        title=engine["displayName"],
        model=(config["generationConfig"] or Json())["model"],
        ranking=(config["similaritySearchConfig"] or Json())["ranking"],
        quotas=None if use is None else use["quotas"],
        target=None if use is None else use["embedding"]["target"],
    )


ROUTES = (Route("/console", get=show),)
