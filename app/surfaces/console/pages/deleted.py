"""Screen 8: deleted memories that can still be restored."""

from starlette.responses import Response

from app.surfaces.console.filterrow import SCOPES, FilterRow, since, until
from app.surfaces.console.forms import ChangeForm, read_form
from app.surfaces.console.pages.deletion import (
    BulkForm,
    ask_bulk,
    memory_path,
    refused_page,
)
from app.surfaces.console.pages.memories import TEXT, list_memories
from app.surfaces.console.pages.memory import PATH
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import ENGINE, Route, Visit

_FIELDS = (
    TEXT,
    since("delete_time", "deleted_after", TEXTS.filter_deleted_after),
    until("delete_time", "deleted_before", TEXTS.filter_deleted_before),
)
_ONLY_DELETED = ("showDeleted", "true")
_IS_DELETED = "delete_time:*"


def _row(visit: Visit) -> FilterRow:
    return FilterRow.of(
        visit.request.query_params,
        _FIELDS,
        (SCOPES,),
        conditions=visit.session.caller.reach.conditions,
        orders=TEXTS.deleted_orders | TEXTS.orders,
    )


async def show(visit: Visit) -> Response:
    """Show a page of restorable memories, the last deleted first."""
    return await list_memories(visit, "deleted.html", _row(visit), _ONLY_DELETED, also=_IS_DELETED)


async def preview(visit: Visit) -> Response:
    """Show the number of memories to bring back, and some of them."""
    return await ask_bulk(visit, "recover", _row(visit), _ONLY_DELETED, also=_IS_DELETED)


async def bring_back_chosen(visit: Visit) -> Response:
    """Restore the chosen memories, with one API request each."""
    form = await read_form(visit.request, BulkForm, visit.session)
    changes = {
        memory: visit.api.send(
            "POST", f"{memory_path(visit, memory)}:undelete", request_id=form.id_for(memory)
        )
        for _, memory in form.chosen()
    }
    back = _row(visit).at(f"{visit.engine_url}/deleted")
    refused = await refused_page(visit, changes, back)
    return refused or visit.done(back, "brought_back", count=str(len(changes)))


async def bring_back(visit: Visit) -> Response:
    """Restore one memory."""
    form = await read_form(visit.request, ChangeForm, visit.session)
    memory = visit.id_of("memory")
    path = f"{visit.own_path}:undelete"
    operation = await visit.api.send("POST", path, request_id=form.id_for(memory))
    return visit.done(visit.own_url, "brought_back", visit.undo_of(operation), count="1")


ROUTES = (
    Route(f"{ENGINE}/deleted", get=show),
    Route(f"{ENGINE}/recovery", get=preview, post=bring_back_chosen),
    Route(f"{PATH}/undelete", post=bring_back),
)
