"""The page of a user, or of any other scope: what is known of it, and since when; its erasure."""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import groupby
from urllib.parse import urlencode

from starlette.responses import Response

from app.kernel.permissions import Permission
from app.surfaces import filters
from app.surfaces.api import Json, Query
from app.surfaces.console.filterrow import SCOPES
from app.surfaces.console.forms import ChangeForm, read_form
from app.surfaces.console.pages import keys, memory
from app.surfaces.console.pages.operations import summary_of
from app.surfaces.console.templating import (
    last_part,
    memory_id,
    pairs,
    plain,
    read_scope,
    scope_path,
)
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import BAD_REQUEST, ENGINE, Route, Visit, redirect

PATH = f"{ENGINE}/users/{{scope}}"
_USER = "user_id"
"""The key of a scope whose value is the user of sessions."""
_ROWS = "10"
"""Rows of each list but the timeline."""
_TOLD = 20
"""Revisions on a page of the timeline; their operations are asked for by their names."""


class PersonErasureForm(ChangeForm):
    """The erasure of a scope: its pairs as they were typed."""

    typed: str = ""


def url_of(visit: Visit, scope: Mapping[str, str]) -> str:
    """Return the path of the page of a scope."""
    return f"{visit.engine_url}/users/{scope_path(scope)}"


def _scope(visit: Visit) -> dict[str, str]:
    return read_scope(visit.id_of("scope"))


async def show(visit: Visit) -> Response:
    """Show what is known of a scope; a value without a key leads to the search at the top."""
    scope = _scope(visit)
    if not scope:
        return redirect(f"{visit.engine_url}/find?{urlencode({'q': visit.id_of('scope')})}")
    # Refused without the permission, unlike the other parts of the page.
    listed = visit.api.get(f"{visit.engine_path}/memories", _some(_of(scope)))
    parts = _parts(visit, scope)
    memories, *others = await asyncio.gather(
        listed, *(visit.visible(*one) for one in parts.values())
    )
    found = Json(zip(parts, others, strict=True))
    revisions: list[Json] = found["revisions"]["memoryRevisions"] or []
    told, sources = await asyncio.gather(
        asyncio.to_thread(_told, revisions), _sources(visit, revisions)
    )
    scopes: list[Json] = found["scopes"]["scopes"] or []
    return visit.render(
        "user.html",
        scope=scope,
        user=scope.get(_USER),
        memories=memories["memories"],
        counted=sum(one["memoryCount"] for one in scopes),
        is_least=any(one["isCapped"] for one in scopes) or bool(found["scopes"]["nextPageToken"]),
        found=found,
        revisions=revisions,
        told=told,
        sources=sources,
        operations=[
            summary_of(operation, visit.now)
            for operation in found["operations"]["operations"] or []
        ],
        keys=[
            keys.row_of(key, visit.now)
            for key in found["keys"]["keys"] or []
            # Only those that reach this engine.
            if not key["engines"] or visit.engine in key["engines"]
        ],
        of_scope=urlencode([(SCOPES.name, pair) for pair in pairs(scope)]),
        here=url_of(visit, scope),
        older=visit.next_page(found["revisions"]),
    )


def _of(scope: Mapping[str, str], field: str = SCOPES.field) -> str:
    """Return the filter of rows whose scopes have all pairs of a scope."""
    compared = (f"{field}.{filters.quoted(key)}={filters.quoted(scope[key])}" for key in scope)
    return filters.all_of(compared)


def _some(chosen: str) -> Query:
    return [("filter", chosen), ("pageSize", _ROWS)]


def _parts(visit: Visit, scope: Mapping[str, str]) -> Mapping[str, tuple[Permission, str, Query]]:
    """Return the parts of the page beside the memories: permission, path and query of each."""
    base, chosen = visit.engine_path, _of(scope)
    bin_query = [("showDeleted", "true"), ("orderBy", "delete_time")]
    user = f"{_USER}={filters.quoted(scope.get(_USER, ''))}"
    parts = {
        "scopes": (Permission.MEMORIES_LIST, f"{base}/memories:listScopes", [("filter", chosen)]),
        "deleted": (
            Permission.REVISIONS_LIST,
            f"{base}/memories",
            [*bin_query, *_some(filters.all_of(("delete_time:*", chosen)))],
        ),
        "revisions": (
            Permission.REVISIONS_LIST,
            f"{base}/memories/-/revisions",
            [*visit.page_query(_TOLD), ("filter", chosen)],
        ),
        "operations": (Permission.OPERATIONS_LIST, f"{base}/operations", _some(chosen)),
        "spent": (Permission.OPERATIONS_LIST, f"{base}/operations:usage", [("filter", chosen)]),
        "keys": (Permission.KEYS_MANAGE, keys.API, [("filter", _of(scope, "scope_conditions"))]),
    }
    if _USER in scope:
        parts["sessions"] = (Permission.SESSIONS_LIST, f"{base}/sessions", _some(user))
    return parts


def _told(revisions: Sequence[Json]) -> dict[str, "list[memory.DiffPart] | None"]:
    """Return, by revision, how its fact differs from the one before it on the page."""
    by_memory = sorted(revisions, key=lambda revision: memory_id(revision["name"]))
    told = {}
    for _, of_one in groupby(by_memory, key=lambda revision: memory_id(revision["name"])):
        told.update(memory.told(list(of_one)))
    return told


async def _sources(visit: Visit, revisions: Sequence[Json]) -> dict[str, Json]:
    names = {revision["operation"] for revision in revisions if revision["operation"]}
    chosen = " OR ".join(f"name={filters.quoted(last_part(name))}" for name in sorted(names))
    if not chosen:
        return {}
    query = [("filter", chosen), ("pageSize", str(_TOLD))]
    path = f"{visit.engine_path}/operations"
    listed = await visit.visible(Permission.OPERATIONS_LIST, path, query)
    operations: list[Json] = listed["operations"] or []
    return {operation["name"]: operation["metadata"]["source"] for operation in operations}


async def preview_erasure(visit: Visit, status: int = 200, fault: str = "") -> Response:
    """Show the rows that an erasure would remove, and ask for the scope."""
    scope = _scope(visit)
    body = {"scope": scope, "validateOnly": True}
    counted = await visit.api.ask(f"{visit.engine_path}:eraseScope", body)
    return visit.render(
        "user_erasure.html",
        status,
        scope=scope,
        typed=" ".join(pairs(scope)),
        counted=counted["response"],
        fault=fault,
        here=url_of(visit, scope),
    )


async def erase(visit: Visit) -> Response:
    """Erase a scope if the user typed its pairs; then show the operation with the certificate."""
    form = await read_form(visit.request, PersonErasureForm, visit.session)
    scope = _scope(visit)
    wanted = " ".join(scope.values() if len(scope) == 1 and "=" not in form.typed else pairs(scope))
    # Hidden characters cannot be typed; the page shows them as code points.
    if form.typed.strip() not in {wanted.strip(), plain(wanted).strip()}:
        return await preview_erasure(visit, BAD_REQUEST, TEXTS.user_erase_mismatch)
    operation = await visit.api.send(
        "POST", f"{visit.engine_path}:eraseScope", {"scope": scope}, request_id=form.request_id
    )
    return visit.done(visit.url_of_operation(operation), "erased_person")


ROUTES = (
    Route(PATH, get=show),
    Route(f"{PATH}/erase", get=preview_erasure, post=erase),
)
