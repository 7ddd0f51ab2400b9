"""Deletion of memories, which can be undone, and permanent erasure of one."""

from collections.abc import Sequence
from typing import Any, Literal
from urllib.parse import quote

from starlette.responses import Response

from app.kernel.errors import InvalidArgument
from app.kernel.permissions import Permission
from app.kernel.wire.scalars import format_timestamp
from app.surfaces import filters
from app.surfaces.api import ApiRefusal, Json, refusals
from app.surfaces.console import carried
from app.surfaces.console.forms import ChangeForm, VersionForm, read_form
from app.surfaces.console.pages.memories import row_of
from app.surfaces.console.pages.memory import PATH, known, path_of, url_of
from app.surfaces.console.templating import last_part
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import BAD_REQUEST, CONFLICT, ENGINE, Route, Visit

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
    answer, fault, _ = await visit.listed(f"{visit.engine_path}/memories", row_of(visit))
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
    here = carried.address(visit.request)
    return visit.render("deletion.html", count=count, samples=samples, back=back, here=here, **sent)


async def delete(visit: Visit) -> Response:
    """Delete the memories in the preview; then show the page where they can be restored."""
    form = await read_form(visit.request, DeletionForm, visit.session)
    memories = f"{visit.engine_path}/memories"
    seen = "deleted" if visit.may(Permission.REVISIONS_LIST) else "memories"
    back = f"{visit.engine_url}/{seen}"
    if form.filter:
        body = {"filter": form.filter, "force": True}
        done = await visit.api.send("POST", f"{memories}:purge", body, request_id=form.request_id)
        return await _deleted(visit, back, done["response"]["purgeCount"], visit.undo_of(done))
    if not form.memory:
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
    if refused:
        return visit.render("refused.html", CONFLICT, refused=refused, back=back)
    gone = [memory for _, _, memory in chosen]
    return await _deleted(visit, back, len(gone), f"{visit.engine_url}/deleted", gone)


async def _deleted(
    visit: Visit, url: str, count: int, way_back: str, memories: Sequence[str] = ()
) -> Response:
    """Show a page with a note on the deletion, and until when it can be taken back."""
    query = [("showDeleted", "true"), ("filter", "delete_time:*"), ("pageSize", "1")]
    path = f"{visit.engine_path}/memories"
    listed = await visit.answered(path, [*query, ("orderBy", "delete_time desc")]) or Json()
    until = next((one["recoverUntil"] or "" for one in listed["memories"] or []), "")
    did = "deleted_until" if until else "deleted"
    if memories and not visit.may(Permission.MEMORIES_ROLLBACK):
        way_back, memories = "", ()
    at = until[:16].replace("T", " ")
    return visit.done(url, did, way_back, memories, count=str(count), until=at)


class RemovalForm(VersionForm):
    """A deletion, with the labels of its revision as lines `key=value`."""

    labels: str = ""

    def body(self) -> dict[str, Any] | None:
        """Return the labels as a request, if there are any."""
        lines = map(filters.split_pair, filter(str.strip, self.labels.splitlines()))
        labels = {key: value or "" for key, value in lines}
        return {"revisionLabels": labels} if labels else None


class ErasureForm(ChangeForm):
    """An erasure: the id as it was typed, and the list to return to."""

    typed: str = ""
    back: Literal["memories", "deleted"] = "memories"


async def ask(visit: Visit) -> Response:
    """Ask for confirmation before a memory is deleted."""
    form = visit.filled(RemovalForm)
    return await _ask(visit, 200, form.labels if form else "")


async def _ask(visit: Visit, status: int, labels: str = "", fault: str = "") -> Response:
    memory = await visit.api.get(path_of(visit))
    return visit.render(
        "removal.html", status, memory=memory, labels=labels, fault=fault, here=url_of(visit)
    )


async def delete_one(visit: Visit) -> Response:
    """Delete a memory; after a concurrent change, ask again."""
    form = await read_form(visit.request, RemovalForm, visit.session)
    try:
        await visit.api.send(
            "DELETE", path_of(visit), form.body(), request_id=form.request_id, etag=form.etag
        )
    except ApiRefusal as refused:
        if refused.is_stale:
            return await _ask(visit, CONFLICT, form.labels, TEXTS.delete_stale)
        if refused.status == BAD_REQUEST:
            return await _ask(visit, BAD_REQUEST, form.labels, refused.message)
        raise
    is_shown = visit.may(Permission.REVISIONS_LIST)
    shown = url_of(visit) if is_shown else f"{visit.engine_url}/memories"
    memory = str(visit.request.path_params["memory"])
    return await _deleted(visit, shown, 1, f"{url_of(visit)}/undelete", [memory])


async def ask_for_id(visit: Visit) -> Response:
    """Ask for the id of a memory before it is erased."""
    return await _ask_for_id(visit, 200)


async def _ask_for_id(visit: Visit, status: int, fault: str = "") -> Response:
    memory = await known(visit)
    return visit.render("erasure.html", status, memory=memory, fault=fault, here=url_of(visit))


async def erase(visit: Visit) -> Response:
    """Erase a memory with its whole history if the user typed its id."""
    form = await read_form(visit.request, ErasureForm, visit.session)
    if form.typed.strip() != visit.request.path_params["memory"]:
        return await _ask_for_id(visit, BAD_REQUEST, TEXTS.erase_mismatch)
    await visit.api.erase(path_of(visit), form.request_id)
    return visit.done(f"{visit.engine_url}/{form.back}", "erased")


ROUTES = (
    Route(f"{ENGINE}/deletion", get=preview, post=delete),
    Route(f"{PATH}/delete", get=ask, post=delete_one, kept=RemovalForm),
    Route(f"{PATH}/erase", get=ask_for_id, post=erase),
)
