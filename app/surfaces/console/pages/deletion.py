"""Deletion of memories, which can be undone, and permanent erasure of one; labels of many."""

from collections.abc import Awaitable, Mapping
from typing import Any, Literal
from urllib.parse import quote

from pydantic import Field
from starlette.responses import Response

from app.kernel.errors import InvalidArgument
from app.kernel.permissions import Permission
from app.kernel.wire.scalars import format_timestamp
from app.surfaces import filters
from app.surfaces.api import ApiRefusal, Json, refusals
from app.surfaces.console.filterrow import FilterRow
from app.surfaces.console.forms import ChangeForm, VersionForm, read_form
from app.surfaces.console.pages.memories import row_of
from app.surfaces.console.pages.memory import PATH, known, path_of, url_of
from app.surfaces.console.templating import last_part
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import BAD_REQUEST, CONFLICT, ENGINE, Route, Visit, redirect

SAMPLES = 20
"""Number of memories shown in a preview."""


class BulkForm(ChangeForm):
    """Memories that were ticked, each as its version and id."""

    memory: tuple[str, ...] = ()

    def chosen(self) -> list[tuple[str, str]]:
        """Return the version and the id of each.

        Raises:
            InvalidArgument: there is none.
        """
        if not self.memory:
            raise InvalidArgument.of_field("memory", TEXTS.choose_first)
        split = (ticked.partition(" ") for ticked in self.memory)
        return [(etag, memory) for etag, _, memory in split]


class DeletionForm(BulkForm):
    """The memories to delete: those that were ticked, or all that match a filter."""

    filter: str = ""


class LabelForm(BulkForm):
    """A pair of metadata; without a value, it is removed."""

    key: str = Field(min_length=1)
    value: str = ""

    async def change(self, visit: Visit, etag: str, memory: str) -> Json:
        """Change the metadata of a memory in one version."""
        path = _path(visit, memory)
        metadata = dict((await visit.api.get(path))["metadata"] or {})
        metadata.pop(self.key, None)
        if self.value:
            metadata[self.key] = {"stringValue": self.value}
        return await visit.api.send(
            "PATCH",
            path,
            {"metadata": metadata},
            request_id=self.id_for(memory),
            etag=etag,
            mask="metadata",
        )


async def preview(visit: Visit) -> Response:
    """Show the number of memories to delete, and some of them."""
    row = row_of(visit)
    if visit.request.query_params.get("which") != "filter":
        return await ask_bulk(visit, "delete", row)
    wanted = _until_now(visit)
    count, samples = await _count(visit, wanted)
    return _bulk(visit, "delete", row, samples, count=count, filter=wanted)


async def ask_bulk(
    visit: Visit, deed: str, row: FilterRow, *more: tuple[str, str], also: str = ""
) -> Response:
    """Ask whether to do a deed of the texts to the ticked memories of a list, or to a whole page.

    The list is as for `Visit.listed`.
    """
    listed = await visit.listed(f"{visit.engine_path}/memories", row, *more, also=also)
    if listed.fault:
        raise InvalidArgument.of_field("filter", listed.fault)
    memories: list[Json] = listed.answer["memories"] or []
    missing = 0
    if visit.request.query_params.get("which") != "page":
        ids = visit.chosen()
        memories = [memory for memory in memories if last_part(memory["name"]) in ids]
        missing = len(ids) - len(memories)
    chosen = [f"{memory['etag']} {last_part(memory['name'])}" for memory in memories]
    return _bulk(visit, deed, row, memories, chosen=chosen, missing=missing)


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


def _bulk(
    visit: Visit, deed: str, row: FilterRow, memories: list[Json], **found: object
) -> Response:
    own = {"count": len(memories), "filter": "", "chosen": (), "missing": 0, **found}
    samples, words = memories[:SAMPLES], TEXTS.bulk[deed]
    return visit.render(
        "bulk.html", deed=deed, words=words, samples=samples, query=row.query(), **own
    )


async def label(visit: Visit) -> Response:
    """Show the memories to label, with the fields of the label."""
    return await ask_bulk(visit, "label", row_of(visit))


async def label_chosen(visit: Visit) -> Response:
    """Set a pair of the metadata of memories, or remove it, and leave the rest of it."""
    form = await read_form(visit.request, LabelForm, visit.session)
    changes = {memory: form.change(visit, etag, memory) for etag, memory in form.chosen()}
    return await told(visit, changes, "memories")


async def told(visit: Visit, changes: Mapping[str, Awaitable[Json]], back: str) -> Response:
    """Make the changes of memories; then tell which were refused, or show a list of the engine."""
    refused = await refusals(changes)
    query = visit.request.url.query
    url = f"{visit.engine_url}/{back}" + (f"?{query}" if query else "")
    if refused:
        return visit.render("refused.html", CONFLICT, refused=refused, back=url)
    return redirect(url)


async def delete(visit: Visit) -> Response:
    """Delete the memories in the preview; then show the page where they can be restored."""
    form = await read_form(visit.request, DeletionForm, visit.session)
    memories = f"{visit.engine_path}/memories"
    if form.filter:
        body = {"filter": form.filter, "force": True}
        await visit.api.send("POST", f"{memories}:purge", body, request_id=form.request_id)
        return await told(visit, {}, _seen(visit))
    changes = {
        memory: visit.api.send(
            "DELETE", _path(visit, memory), request_id=form.id_for(memory), etag=etag
        )
        for etag, memory in form.chosen()
    }
    return await told(visit, changes, _seen(visit))


def _seen(visit: Visit) -> str:
    """Return the list that shows the memories after they were deleted."""
    return "deleted" if visit.may(Permission.REVISIONS_LIST) else "memories"


def _path(visit: Visit, memory: str) -> str:
    return f"{visit.engine_path}/memories/{quote(memory, safe='')}"


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
    return await _ask(visit, 200)


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
    return redirect(url_of(visit) if is_shown else f"{visit.engine_url}/memories")


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
    return redirect(f"{visit.engine_url}/{form.back}")


ROUTES = (
    Route(f"{ENGINE}/deletion", get=preview, post=delete),
    Route(f"{ENGINE}/labelling", get=label, post=label_chosen),
    Route(f"{PATH}/delete", get=ask, post=delete_one),
    Route(f"{PATH}/erase", get=ask_for_id, post=erase),
)
