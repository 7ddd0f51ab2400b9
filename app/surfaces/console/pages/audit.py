"""Screen 15, second half: the audit log of the service, and that of an engine."""

from urllib.parse import urlencode

from starlette.responses import Response

from app.surfaces.console import filters
from app.surfaces.console.routing import ENGINE, Route
from app.surfaces.console.visits import BAD_REQUEST, Visit

_EXACT = ("caller", "method", "result", "engine")
_TIMES = {"after": "create_time>=", "before": "create_time<"}
_NAMES = (*_EXACT, "resource", *_TIMES)


class AuditFilters:
    """The state of the filter row, which is in the URL."""

    def __init__(self, visit: Visit, *, is_of_service: bool) -> None:
        query = visit.request.query_params
        # An engine's log has no engines to choose from.
        self.names = [name for name in _NAMES if is_of_service or name != "engine"]
        self.values = {name: query.get(name, "").strip() for name in self.names}

    def query(self) -> list[tuple[str, str]]:
        """Return the parameters of a URL with these filters."""
        return [(name, value) for name, value in self.values.items() if value]

    def text_of_api(self) -> str:
        """Return the filter as the API takes it."""
        return filters.all_of(self._part(name, value) for name, value in self.query())

    @staticmethod
    def _part(name: str, value: str) -> str:
        if name in _TIMES:
            return _TIMES[name] + filters.moment(value)
        if name == "resource":
            return filters.contains(name, value)
        return f"{name}={filters.quoted(value)}"


def _places(visit: Visit) -> tuple[str, str]:
    """Return the path of the log in the API, and that of the screen."""
    if "engine" in visit.request.path_params:
        return f"{visit.engine_path}/auditEvents", f"{visit.engine_url}/audit"
    return "/v1/auditEvents", "/console/audit"


def _filters(visit: Visit) -> AuditFilters:
    return AuditFilters(visit, is_of_service="engine" not in visit.request.path_params)


async def show(visit: Visit) -> Response:
    """Show a page of events; what the API says of a filter stands beside the filter."""
    path, here = _places(visit)
    chosen = _filters(visit)
    answer, fault = await visit.listed(path, chosen.text_of_api())
    token = answer["nextPageToken"]
    return visit.render(
        "audit.html",
        BAD_REQUEST if fault else 200,
        events=answer["auditEvents"] or [],
        chosen=chosen.values,
        times=_TIMES,
        export=urlencode(chosen.query()),
        fault=fault,
        here=here,
        older=urlencode([*chosen.query(), ("page", token)]) if token else None,
    )


async def export(visit: Visit) -> Response:
    """Send all events that the filter finds, as a file."""
    path, _ = _places(visit)
    return await visit.download(path, _filters(visit).text_of_api(), "audit.ndjson")


ROUTES = tuple(
    Route(f"{above}/audit{below}", get=page)
    for above in ("/console", ENGINE)
    for below, page in (("", show), ("/export", export))
)
