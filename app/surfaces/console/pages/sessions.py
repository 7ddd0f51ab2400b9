"""Screen 11, the list: the sessions of an engine, by user, label and time."""

from starlette.responses import Response

from app.surfaces.console.filterrow import (
    FilterChips,
    FilterField,
    FilterRow,
    changed_between,
    equals,
)
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import ENGINE, Route, Visit

_CHIPS = (FilterChips("label", TEXTS.filter_label, "labels"),)
_FIELDS = (FilterField("user", TEXTS.user, equals("user_id")), *changed_between())


async def show(visit: Visit) -> Response:
    """Show a page of sessions."""
    row = FilterRow.of(visit.request.query_params, _FIELDS, _CHIPS)
    listed = await visit.listed(f"{visit.engine_path}/sessions", row.text_of_api())
    return visit.render_list(
        "sessions.html",
        row,
        listed,
        sessions=listed.answer["sessions"] or [],
        here=f"{visit.engine_url}/sessions",
    )


ROUTES = (Route(f"{ENGINE}/sessions", get=show),)
