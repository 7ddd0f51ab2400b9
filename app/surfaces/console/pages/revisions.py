"""Screen 7: revisions of all memories, with filters such as label, author, scope and time."""

from collections.abc import Sequence
from itertools import groupby

from starlette.responses import Response

from app.surfaces import filters
from app.surfaces.api import ApiFault, Json
from app.surfaces.console.filterrow import (
    MADE_BETWEEN,
    SCOPES,
    FilterChips,
    FilterField,
    FilterRow,
    equals,
    named,
)
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import ENGINE, Route, Visit

_ACTIONS = ("CREATED", "UPDATED", "DELETED", "ROLLED_BACK", "UNDELETED", "REDACTED")
_LABELS = FilterChips("label", TEXTS.filter_label, "labels", "revisions/labels")
_CHIPS = (_LABELS, SCOPES)
_FIELDS = (
    FilterField("action", TEXTS.action, equals("action"), "select", named(*_ACTIONS)),
    FilterField("author", TEXTS.author, equals("author")),
    FilterField("caller", TEXTS.caller, equals("caller")),
    FilterField("memory", TEXTS.filter_memory, equals("memory")),
    FilterField("operation", TEXTS.filter_operation, equals("operation")),
    *MADE_BETWEEN,
)
_SUGGESTED = 50


def _path(visit: Visit) -> str:
    return f"{visit.engine_path}/memories/-/revisions"


async def show(visit: Visit) -> Response:
    """Show a page of revisions, newest first, grouped by operation if the URL has `group`."""
    row = FilterRow.of(visit.request.query_params, _FIELDS, _CHIPS, switches=("group",))
    listed = await visit.listed(_path(visit), row)
    is_grouped = "group" in row.switches
    return visit.render_list(
        "revisions.html",
        row,
        listed,
        groups=_grouped(listed.rows) if is_grouped else [("", listed.rows)] if listed.rows else [],
        is_grouped=is_grouped,
    )


def _grouped(revisions: Sequence[Json]) -> list[tuple[str, list[Json]]]:
    groups = groupby(revisions, key=lambda revision: revision["operation"] or "")
    return [(str(name), list(group)) for name, group in groups]


async def suggest(visit: Visit) -> Response:
    """Suggest labels in use that begin with the user's input, as `key=value`."""
    # Chosen labels come first and the current input last.
    written = ["", *visit.request.query_params.getlist("label")][-1]
    key, prefix = filters.split_pair(written)
    asked = [("prefix", key)] if prefix is None else [("key", key), ("prefix", prefix)]
    query = [("pageSize", str(_SUGGESTED)), *asked]
    try:
        answer = await visit.api.get(f"{_path(visit)}:listLabels", query)
    except ApiFault:
        # The input is too long for a label; no error is shown while the user still types.
        answer = Json()
    labels = answer["labels"] or []
    suggested = [filters.written_pair(label["key"], label["value"] or "") for label in labels]
    return visit.render("options.html", suggested=suggested)


_HERE = f"{ENGINE}/revisions"
ROUTES = (
    Route(_HERE, get=show),
    Route(f"{_HERE}/labels", get=suggest),
)
