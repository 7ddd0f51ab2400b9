"""Screen 8: deleted memories that can still be restored."""

from urllib.parse import quote

from starlette.responses import Response

from app.kernel.errors import InvalidArgument
from app.surfaces.api import refusals
from app.surfaces.console.filterrow import SCOPES, FilterRow, since, until
from app.surfaces.console.forms import ChangeForm, read_form
from app.surfaces.console.pages.memories import TEXT, list_memories
from app.surfaces.console.pages.memory import PATH, path_of, url_of
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import CONFLICT, ENGINE, Route, Visit

_FIELDS = (
    TEXT,
    since("delete_time", "deleted_after", TEXTS.filter_deleted_after),
    until("delete_time", "deleted_before", TEXTS.filter_deleted_before),
)


class RecoveryForm(ChangeForm):
    """The memories to bring back."""

    memory: tuple[str, ...] = ()


async def show(visit: Visit) -> Response:
    """Show a page of restorable memories, the last deleted first."""
    conditions = visit.session.caller.reach.conditions
    row = FilterRow.of(visit.request.query_params, _FIELDS, (SCOPES,), conditions=conditions)
    return await list_memories(
        visit,
        "deleted.html",
        row,
        ("showDeleted", "true"),
        ("orderBy", "delete_time desc"),
        also="delete_time:*",
    )


async def bring_back_chosen(visit: Visit) -> Response:
    """Restore the chosen memories, with one API request each."""
    form = await read_form(visit.request, RecoveryForm, visit.session)
    if not form.memory:
        raise InvalidArgument.of_field("memory", TEXTS.choose_first)
    refused = await refusals(
        {
            memory: visit.api.send(
                "POST",
                f"{visit.engine_path}/memories/{quote(memory, safe='')}:undelete",
                request_id=form.id_for(memory),
            )
            for memory in form.memory
        }
    )
    back = visit.request.url.path
    if refused:
        return visit.render("refused.html", CONFLICT, refused=refused, back=back)
    query = visit.request.url.query
    back = f"{back}?{query}" if query else back
    return visit.done(back, "brought_back", count=str(len(form.memory)))


async def bring_back(visit: Visit) -> Response:
    """Restore one memory."""
    form = await read_form(visit.request, ChangeForm, visit.session)
    memory = str(visit.request.path_params["memory"])
    path = f"{path_of(visit)}:undelete"
    operation = await visit.api.send("POST", path, request_id=form.id_for(memory))
    return visit.done(url_of(visit), "brought_back", visit.undo_of(operation), count="1")


ROUTES = (
    Route(f"{ENGINE}/deleted", get=show, post=bring_back_chosen),
    Route(f"{PATH}/undelete", post=bring_back),
)
