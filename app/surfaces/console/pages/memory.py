"""Screen 6: one memory with its fields, its history and the differences of two revisions."""

import asyncio
from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

from starlette.responses import Response

from app.kernel.permissions import Permission
from app.surfaces.api import Json
from app.surfaces.console.diffs import changes
from app.surfaces.console.routing import ENGINE, Route
from app.surfaces.console.templating import last_part, pretty
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import TOKEN_PARAMETER, Visit

COMPARED = {
    "fact": TEXTS.fact,
    "displayName": TEXTS.display_name,
    "description": TEXTS.description,
    "context": TEXTS.context,
    "topics": TEXTS.topics,
    "metadata": TEXTS.metadata,
    "structuredContent": TEXTS.structured_content,
    "expireTime": TEXTS.expires,
}
"""The fields that are compared, with their labels."""
PATH = f"{ENGINE}/memories/{{memory}}"
_SIDES = {"from": TEXTS.compare_from, "to": TEXTS.compare_to}
"""The two sides of a comparison in the URL, with their labels."""


def path_of(visit: Visit) -> str:
    """Return the path of the memory in the API."""
    return f"{visit.engine_path}/memories/{_memory(visit)}"


def url_of(visit: Visit) -> str:
    """Return the path of the memory in the console."""
    return f"{visit.engine_url}/memories/{_memory(visit)}"


async def known(visit: Visit) -> Json:
    """Return the memory, including a deleted one if the key may see revisions."""
    sees_deleted = visit.may(Permission.REVISIONS_LIST)
    return await visit.api.get(path_of(visit), [("showDeleted", "true")] if sees_deleted else [])


def may_erase(visit: Visit) -> bool:
    """Return True if the user may erase a memory permanently."""
    return visit.may(Permission.MEMORIES_DELETE) and visit.may(Permission.MEMORIES_PURGE)


def _memory(visit: Visit) -> str:
    return quote(str(visit.request.path_params["memory"]), safe="")


def comparable(version: Json) -> dict[str, str]:
    """Return the compared fields of a memory or a revision as texts."""
    # A revision's own expiry is `expireTime`; the memory's is `memoryExpireTime`.
    is_revision = "action" in version
    expiry = version.get("memoryExpireTime" if is_revision else "expireTime")
    values = Json({**version, "expireTime": expiry})
    return {
        key: value if isinstance(value := values[key] or "", str) else pretty(value)
        for key in COMPARED
    }


async def show(visit: Visit) -> Response:
    """Show a memory with its timeline and a comparison of two chosen revisions."""
    query = visit.request.query_params
    if visit.may(Permission.REVISIONS_LIST):
        memory, listed = await asyncio.gather(
            known(visit), visit.api.get(f"{path_of(visit)}/revisions", visit.page_query())
        )
    else:
        memory, listed = await known(visit), Json()
    is_live = memory["deleteTime"] is None
    revisions: list[Json] = listed["memoryRevisions"] or []
    chosen = {name: query.get(name, "") for name in _SIDES}
    compared = await _compared(visit, *chosen.values()) if all(chosen.values()) else None
    return visit.render(
        "memory.html",
        memory=memory,
        memory_id=last_part(memory["name"]),
        revisions=revisions,
        older=_older(chosen, listed["nextPageToken"]),
        chosen=chosen,
        elsewhere=_elsewhere(chosen, revisions),
        page=query.get(TOKEN_PARAMETER, ""),
        compared=compared,
        may_edit=is_live and visit.may(Permission.MEMORIES_UPDATE),
        may_delete=is_live and visit.may(Permission.MEMORIES_DELETE),
        may_erase=may_erase(visit),
        may_roll_back=is_live and visit.may(Permission.MEMORIES_ROLLBACK),
        may_undelete=not is_live and visit.may(Permission.MEMORIES_ROLLBACK),
        may_undo=visit.may(Permission.OPERATIONS_UNDO),
        may_see_revisions=visit.may(Permission.REVISIONS_LIST),
        may_see_operations=visit.may(Permission.OPERATIONS_GET),
        here=url_of(visit),
        sides=_SIDES,
        is_whole=query.get("all") == "1",
    )


def _older(chosen: Mapping[str, str], token: str | None) -> str | None:
    """Return the query of the next page with the chosen revisions; None: this is the last page."""
    kept = [(name, revision) for name, revision in chosen.items() if revision]
    return urlencode([*kept, (TOKEN_PARAMETER, token)]) if token else None


def _elsewhere(chosen: Mapping[str, str], revisions: Sequence[Json]) -> dict[str, str]:
    """Return the chosen revisions that are on other pages, by side of the comparison."""
    here = {last_part(revision["name"]) for revision in revisions}
    return {name: value for name, value in chosen.items() if value and value not in here}


async def _compared(visit: Visit, *chosen: str) -> Json:
    paths = [f"{path_of(visit)}/revisions/{quote(revision, safe='')}" for revision in chosen]
    before, after = await asyncio.gather(*(visit.api.get(path) for path in paths))
    differences = await asyncio.to_thread(changes, comparable(before), comparable(after), COMPARED)
    return Json(
        {"from": before, "to": after},
        changes=[change for change in differences if change.is_change],
    )


ROUTES = (Route(PATH, get=show),)
