"""Screen 11, the list: the sessions of an engine, by user, label and time."""

from urllib.parse import urlencode

from starlette.responses import Response

from app.surfaces.console import filters
from app.surfaces.console.routing import ENGINE, Route
from app.surfaces.console.visits import BAD_REQUEST, Visit

_TIMES = {"changed_after": "update_time>=", "changed_before": "update_time<"}
_FIELDS = ("user", "label", *_TIMES)


def _filter_of_api(chosen: dict[str, str]) -> str:
    parts = [_TIMES[name] + filters.moment(chosen[name]) for name in _TIMES if name in chosen]
    if "user" in chosen:
        parts.append(f"user_id={filters.quoted(chosen['user'])}")
    if "label" in chosen:
        parts.append(filters.pair("labels", chosen["label"]))
    return filters.all_of(parts)


async def show(visit: Visit) -> Response:
    """Show a page of sessions."""
    query = visit.request.query_params
    conditions = visit.session.caller.reach.conditions
    written = {name: query.get(name, "").strip() for name in _FIELDS}
    chosen = {name: value for name, value in written.items() if value}
    listed, fault = await visit.listed(f"{visit.engine_path}/sessions", _filter_of_api(chosen))
    token = listed["nextPageToken"]
    return visit.render(
        "sessions.html",
        BAD_REQUEST if fault else 200,
        sessions=listed["sessions"] or [],
        written=written,
        is_filtered=bool(chosen),
        conditions={key: sorted(values) for key, values in sorted(conditions.items())},
        fault=fault,
        here=f"{visit.engine_url}/sessions",
        older=urlencode([*chosen.items(), ("page", token)]) if token else None,
    )


ROUTES = (Route(f"{ENGINE}/sessions", get=show),)
