"""Screen 6: one memory: its fields, its history, differences, and edits."""

import asyncio
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from app.kernel.permissions import Permission
from app.surfaces.api import ApiRefusal, Json
from app.surfaces.console.diffs import changes
from app.surfaces.console.forms import VersionForm, read_form
from app.surfaces.console.routing import ENGINE, Route
from app.surfaces.console.templating import last_part, pretty
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import BAD_REQUEST, CONFLICT, Visit, redirect

COMPARED = {
    "fact": TEXTS.fact,
    "displayName": TEXTS.display_name,
    "description": TEXTS.description,
    "topics": TEXTS.topics,
    "metadata": TEXTS.metadata,
    "structuredContent": TEXTS.structured_content,
    "expireTime": TEXTS.expires,
}
"""The fields that are compared, with their labels."""
EDITED = {key: COMPARED[key] for key in ("fact", "displayName", "description")}
PATH = f"{ENGINE}/memories/{{memory}}"


class EditForm(VersionForm):
    """The editable fields of a memory, and what they were when the form was made."""

    fact: str = ""
    display_name: str = ""
    description: str = ""
    was_fact: str = ""
    was_display_name: str = ""
    was_description: str = ""

    def values(self) -> dict[str, str]:
        """Return the fields by their names in the API."""
        return {
            "fact": self.fact,
            "displayName": self.display_name,
            "description": self.description,
        }

    def before(self) -> dict[str, str]:
        """Return the former values of the fields."""
        return {
            "fact": self.was_fact,
            "displayName": self.was_display_name,
            "description": self.was_description,
        }

    def body(self) -> dict[str, Any]:
        """Return the changed fields as a request; an empty one is left out, which clears it."""
        return {name: self.values()[name] for name in self._changed() if self.values()[name]}

    def mask(self) -> str:
        """Return the mask of the changed fields."""
        return ",".join(self._changed())

    def _changed(self) -> list[str]:
        before = self.before()
        return [name for name, value in self.values().items() if value != before[name]]


def path_of(visit: Visit) -> str:
    """Return the path of the memory in the API."""
    return f"{visit.engine_path}/memories/{_memory(visit)}"


def url_of(visit: Visit) -> str:
    """Return the path of the memory in the console."""
    return f"{visit.engine_url}/memories/{_memory(visit)}"


async def known(visit: Visit) -> Json:
    """Return the memory, even if it is deleted, where the key may see that."""
    sees_deleted = visit.may(Permission.REVISIONS_LIST)
    return await visit.api.get(path_of(visit), [("showDeleted", "true")] if sees_deleted else [])


def may_erase(visit: Visit) -> bool:
    """Return True if pages may offer to erase a memory for good."""
    return visit.may(Permission.MEMORIES_DELETE) and visit.may(Permission.MEMORIES_PURGE)


def _memory(visit: Visit) -> str:
    return quote(str(visit.request.path_params["memory"]), safe="")


def comparable(version: Json) -> dict[str, str]:
    """Return the compared fields of a memory or a revision as texts."""
    # What a memory calls its expiry, a revision calls the memory's.
    is_revision = "action" in version
    expiry = version.get("memoryExpireTime" if is_revision else "expireTime")
    values = Json({**version, "expireTime": expiry})
    return {
        key: value if isinstance(value := values[key] or "", str) else pretty(value)
        for key in COMPARED
    }


async def show(visit: Visit) -> Response:
    """Show a memory with its timeline; two chosen revisions are compared."""
    query = visit.request.query_params
    if visit.may(Permission.REVISIONS_LIST):
        memory, listed = await asyncio.gather(
            known(visit), visit.api.get(f"{path_of(visit)}/revisions", visit.page_query())
        )
    else:
        memory, listed = await known(visit), Json()
    is_live = memory["deleteTime"] is None
    chosen = [query.get("from", ""), query.get("to", "")]
    return visit.render(
        "memory.html",
        memory=memory,
        memory_id=last_part(memory["name"]),
        revisions=listed["memoryRevisions"] or [],
        older=listed["nextPageToken"],
        chosen=chosen,
        compared=await _compared(visit, chosen) if all(chosen) else None,
        may_edit=is_live and visit.may(Permission.MEMORIES_UPDATE),
        may_delete=is_live and visit.may(Permission.MEMORIES_DELETE),
        may_erase=may_erase(visit),
        may_roll_back=is_live and visit.may(Permission.MEMORIES_ROLLBACK),
        may_undelete=not is_live and visit.may(Permission.MEMORIES_ROLLBACK),
        may_undo=visit.may(Permission.OPERATIONS_UNDO),
        may_see_revisions=visit.may(Permission.REVISIONS_LIST),
        may_see_operations=visit.may(Permission.OPERATIONS_GET),
        here=url_of(visit),
        is_whole=query.get("all") == "1",
    )


async def _compared(visit: Visit, chosen: list[str]) -> Json:
    """Return two revisions and their differences."""
    paths = [f"{path_of(visit)}/revisions/{quote(revision, safe='')}" for revision in chosen]
    before, after = await asyncio.gather(*(visit.api.get(path) for path in paths))
    differences = await asyncio.to_thread(changes, comparable(before), comparable(after), COMPARED)
    return Json(
        before=before, after=after, changes=[change for change in differences if change.is_change]
    )


async def show_form(visit: Visit) -> Response:
    """Show the form that edits a memory."""
    memory = await visit.api.get(path_of(visit))
    values = {key: memory.get(key) or "" for key in EDITED}
    return _form(visit, memory["etag"], values, values)


async def edit(visit: Visit) -> Response:
    """Change a memory; if somebody else did meanwhile, show all three versions."""
    form = await read_form(visit.request, EditForm, visit.session)
    if not form.mask():
        fault = {"fact": TEXTS.must_change}
        return _form(visit, form.etag, form.values(), form.before(), fault, BAD_REQUEST)
    try:
        await visit.api.send(
            "PATCH",
            path_of(visit),
            form.body(),
            request_id=form.request_id,
            etag=form.etag,
            mask=form.mask(),
        )
    except ApiRefusal as refused:
        if refused.is_stale:
            return await _conflict(visit, form)
        if refused.status == BAD_REQUEST and refused.fields:
            return _form(
                visit, form.etag, form.values(), form.before(), refused.fields, BAD_REQUEST
            )
        raise
    return redirect(url_of(visit))


async def _conflict(visit: Visit, form: EditForm) -> Response:
    theirs = await visit.api.get(path_of(visit))
    now = {key: theirs.get(key) or "" for key in EDITED}
    return visit.render(
        "edit.html",
        CONFLICT,
        labels=EDITED,
        etag=theirs["etag"],
        values=form.values(),
        before=now,
        faults={},
        was=form.before(),
        theirs=now,
        here=url_of(visit),
    )


def _form(
    visit: Visit,
    etag: str,
    values: dict[str, str],
    before: dict[str, str],
    faults: dict[str, str] | None = None,
    status: int = 200,
) -> Response:
    return visit.render(
        "edit.html",
        status,
        labels=EDITED,
        etag=etag,
        values=values,
        before=before,
        faults=faults or {},
        was=None,
        theirs=None,
        here=url_of(visit),
    )


ROUTES = (
    Route(PATH, get=show),
    Route(f"{PATH}/edit", get=show_form, post=edit),
)
