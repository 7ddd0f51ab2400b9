"""Screen 15, second half: the audit logs of the service and of an engine."""

from starlette.responses import Response

from app.surfaces.console.filterrow import FilterField, FilterRow, contains, equals, made_between
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import ENGINE, Route, Visit

_OF_ENGINE = (
    FilterField("caller", TEXTS.caller, equals("caller")),
    FilterField("method", TEXTS.method, equals("method")),
    FilterField("result", TEXTS.result, equals("result")),
    FilterField("resource", TEXTS.resource, contains("resource")),
    *made_between(),
)
_OF_SERVICE = (FilterField("engine", TEXTS.engine, equals("engine")), *_OF_ENGINE)


def _places(visit: Visit) -> tuple[str, str]:
    if "engine" in visit.request.path_params:
        return f"{visit.engine_path}/auditEvents", f"{visit.engine_url}/audit"
    return "/v1/auditEvents", "/console/audit"


def _row(visit: Visit) -> FilterRow:
    # The log of one engine needs no filter by engine.
    is_of_engine = "engine" in visit.request.path_params
    return FilterRow.of(visit.request.query_params, _OF_ENGINE if is_of_engine else _OF_SERVICE)


async def show(visit: Visit) -> Response:
    """Show a page of events, or the API's error next to the filter."""
    path, here = _places(visit)
    row = _row(visit)
    listed = await visit.listed(path, row.text_of_api())
    return visit.render_list(
        "audit.html",
        row,
        listed,
        events=listed.answer["auditEvents"] or [],
        here=here,
    )


async def export(visit: Visit) -> Response:
    """Send all events that match the filter as a file."""
    path, _ = _places(visit)
    return await visit.download(path, _row(visit).text_of_api(), "audit.ndjson")


ROUTES = tuple(
    Route(f"{above}/audit{below}", get=page)
    for above in ("/console", ENGINE)
    for below, page in (("", show), ("/export", export))
)
