"""Screen 4: the memories of an engine, filtered by the API, with suggestions of scopes."""

from starlette.responses import Response

from app.surfaces import filters
from app.surfaces.api import Json
from app.surfaces.console.filterrow import (
    CHANGED_BETWEEN,
    SCOPES,
    FilterChips,
    FilterField,
    FilterRow,
    contains,
    equals,
    named,
    until,
)
from app.surfaces.console.templating import pairs
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import ENGINE, TOKEN_PARAMETER, Route, Visit

TOPICS = (
    "USER_PERSONAL_INFO",
    "USER_PREFERENCES",
    "KEY_CONVERSATION_DETAILS",
    "EXPLICIT_INSTRUCTIONS",
)


def _topic(written: str) -> str:
    kind = "managed_memory_topic" if written in TOPICS else "custom_memory_topic_label"
    return f"topics.{kind}={filters.quoted(written)}"


TEXT = FilterField("text", TEXTS.filter_text, contains("fact"))
_CHIPS = (SCOPES, FilterChips("metadata", TEXTS.filter_metadata, "metadata"))
_FIELDS = (
    TEXT,
    FilterField("type", TEXTS.memory_type, equals("memory_type"), "select", TEXTS.memory_types),
    FilterField("topic", TEXTS.filter_topic, _topic, options=named(*TOPICS)),
    *CHANGED_BETWEEN,
    until("expire_time", "expires_before", TEXTS.filter_expires_before),
)


async def show(visit: Visit) -> Response:
    """Show a page of memories, or the API's error next to the filter."""
    return await list_memories(visit, "memories.html", row_of(visit))


def row_of(visit: Visit) -> FilterRow:
    """Return the filter row of a visit."""
    conditions = visit.session.caller.reach.conditions
    return FilterRow.of(
        visit.request.query_params, _FIELDS, _CHIPS, conditions=conditions, orders=TEXTS.orders
    )


async def list_memories(
    visit: Visit, template: str, row: FilterRow, *more: tuple[str, str], also: str = ""
) -> Response:
    """Show a page of memories with their filter row; `also` is a filter beside it."""
    listed = await visit.listed(f"{visit.engine_path}/memories", row, *more, also=also)
    return visit.render_list(
        template,
        row,
        listed,
        token=visit.request.query_params.get(TOKEN_PARAMETER, ""),
    )


_LOOKED_AT = "100"
"""Number of scopes that are read for suggestions."""


async def suggest_scopes(visit: Visit) -> Response:
    """Suggest pairs of scopes in use that also have the chosen pairs."""
    # Chosen pairs come first and the current input last.
    *chosen, written = ["", *visit.request.query_params.getlist(SCOPES.name)]
    written = written.strip()
    key, value = filters.split_pair(written)
    parts = [filters.pair(SCOPES.field, pair) for pair in filter(str.strip, chosen)]
    if value is not None:
        parts.append(filters.begins(f"{SCOPES.field}.{filters.quoted(key)}", value))
    wanted = filters.all_of(parts)
    query = [("pageSize", _LOOKED_AT), *([("filter", wanted)] if wanted else [])]
    listed = await visit.answered(f"{visit.engine_path}/memories:listScopes", query) or Json()
    found = {pair for item in listed["scopes"] or [] for pair in pairs(item["scope"])}
    begun = written.casefold()
    # An input field would not reveal hidden characters, so such pairs are left out.
    suggested = sorted(p for p in found if p.isprintable() and p.casefold().startswith(begun))
    return visit.render("options.html", suggested=suggested)


ROUTES = (
    Route(f"{ENGINE}/memories", get=show),
    Route(f"{ENGINE}/scopes", get=suggest_scopes),
)
