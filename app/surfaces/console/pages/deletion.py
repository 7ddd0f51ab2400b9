"""Deletion of memories in the list: a preview, then the deletion, which can be undone."""

from urllib.parse import quote

from starlette.responses import Response

from app.kernel.errors import InvalidArgument
from app.kernel.permissions import Permission
from app.kernel.wire.scalars import format_timestamp
from app.surfaces import filters
from app.surfaces.api import Json, refusals
from app.surfaces.console.forms import ChangeForm, read_form
from app.surfaces.console.pages.memories import row_of
from app.surfaces.console.templating import last_part
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import CONFLICT, ENGINE, Route, Visit, redirect

SAMPLES = 20
"""Number of memories shown in a preview."""


class DeletionForm(ChangeForm):
    """The memories to delete: each as its version and id, or all that match a filter."""

    memory: tuple[str, ...] = ()
    filter: str = ""


async def preview(visit: Visit) -> Response:
    """Show the number of memories to delete, and some of them."""
    query = visit.request.query_params
    if query.get("which") == "filter":
        wanted = _until_now(visit)
        count, samples = await _count(visit, wanted)
        return _show(visit, count, samples, filter=wanted, chosen=[], missing=0)
    answer, fault = await visit.listed(f"{visit.engine_path}/memories", row_of(visit).text_of_api())
    if fault:
        raise InvalidArgument.of_field("filter", fault)
    memories: list[Json] = answer["memories"] or []
    missing = 0
    if query.get("which") != "page":
        ids = set(query.getlist("memory"))
        if not ids:
            raise InvalidArgument.of_field("memory", TEXTS.choose_first)
        memories = [memory for memory in memories if last_part(memory["name"]) in ids]
        missing = len(ids) - len(memories)
    chosen = [f"{memory['etag']} {last_part(memory['name'])}" for memory in memories]
    return _show(
        visit, len(memories), memories[:SAMPLES], filter="", chosen=chosen, missing=missing
    )


def _until_now(visit: Visit) -> str:
    """Return the row's filter, limited to memories last changed before the preview.

    A purge by scope alone would also drop the events waiting in streams, which is irreversible.
    The condition on time prevents this.
    """
    row = row_of(visit)
    if row.is_empty:
        raise InvalidArgument.of_field("filter", TEXTS.filter_first)
    now = filters.quoted(format_timestamp(visit.now))
    return filters.all_of([row.text_of_api(), f"update_time<={now}"])


async def _count(visit: Visit, wanted: str) -> tuple[int, list[Json]]:
    body = {"filter": wanted, "sampleSize": SAMPLES}
    done = await visit.api.ask(f"{visit.engine_path}/memories:purge", body)
    return done["response"]["purgeCount"], done["response"]["samples"] or []


def _show(visit: Visit, count: int, samples: list[Json], **sent: object) -> Response:
    query = row_of(visit).query()
    back = f"{visit.engine_url}/memories" + (f"?{query}" if query else "")
    return visit.render("deletion.html", count=count, samples=samples, back=back, **sent)


async def delete(visit: Visit) -> Response:
    """Delete the memories in the preview; then show the page where they can be restored."""
    form = await read_form(visit.request, DeletionForm, visit.session)
    memories = f"{visit.engine_path}/memories"
    if form.filter:
        body = {"filter": form.filter, "force": True}
        await visit.api.send("POST", f"{memories}:purge", body, request_id=form.request_id)
    elif not form.memory:
        raise InvalidArgument.of_field("memory", TEXTS.choose_first)
    chosen = [ticked.partition(" ") for ticked in form.memory]
    refused = await refusals(
        {
            memory: visit.api.send(
                "DELETE",
                f"{memories}/{quote(memory, safe='')}",
                request_id=form.id_for(memory),
                etag=etag,
            )
            for etag, _, memory in chosen
        }
    )
    seen = "deleted" if visit.may(Permission.REVISIONS_LIST) else "memories"
    back = f"{visit.engine_url}/{seen}"
    if refused:
        return visit.render("refused.html", CONFLICT, refused=refused, back=back)
    return redirect(back)


ROUTES = (Route(f"{ENGINE}/deletion", get=preview, post=delete),)
