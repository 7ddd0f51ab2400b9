"""Suggestions of scopes for filter rows."""

from collections.abc import Sequence
from contextlib import suppress

from starlette.responses import Response

from app.surfaces import filters
from app.surfaces.api import ApiRefusal
from app.surfaces.console.filterrow import SCOPES
from app.surfaces.console.templating import pairs
from app.surfaces.console.visits import ENGINE, Route, Visit

_LOOKED_AT = "100"
"""Number of scopes that are read for suggestions."""


async def suggest(visit: Visit) -> Response:
    """Suggest pairs for the user's input."""
    # Chosen pairs come first and the current input last.
    *chosen, written = ["", *visit.request.query_params.getlist(SCOPES.name)]
    pairs_suggested = await suggested(visit, list(filter(str.strip, chosen)), written.strip())
    return visit.render("options.html", suggested=pairs_suggested)


async def suggested(visit: Visit, chosen: Sequence[str], written: str = "") -> list[str]:
    """Return pairs from scopes in use; none if the API refuses.

    Args:
        visit: the request.
        chosen: the pairs that the scopes must have.
        written: the beginning of a pair; with an equals sign, the API filters by it.
    """
    key, value = filters.split_pair(written)
    parts = [filters.pair(SCOPES.field, pair) for pair in chosen]
    if value is not None:
        parts.append(filters.begins(f"{SCOPES.field}.{filters.quoted(key)}", value))
    wanted = filters.all_of(parts)
    query = [("pageSize", _LOOKED_AT), *([("filter", wanted)] if wanted else [])]
    with suppress(ApiRefusal):
        listed = await visit.api.get(f"{visit.engine_path}/memories:listScopes", query)
        suggestions = {pair for item in listed["scopes"] for pair in pairs(item["scope"])}
        begun = written.casefold()
        # An input field would not reveal hidden characters, so such pairs are left out.
        return sorted(p for p in suggestions if p.isprintable() and p.casefold().startswith(begun))
    return []


ROUTES = (Route(f"{ENGINE}/scopes", get=suggest),)
