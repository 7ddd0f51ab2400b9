"""Deletion of memories, which can be undone, and permanent erasure of one; labels of many."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote

from pydantic import Field
from starlette.responses import Response

from app.kernel.errors import InvalidArgument
from app.kernel.permissions import Permission
from app.kernel.wire.scalars import format_timestamp
from app.surfaces import filters
from app.surfaces.api import ApiFault, ApiRefusal, Json, refusals
from app.surfaces.console import carried
from app.surfaces.console.filterrow import FilterRow
from app.surfaces.console.forms import ChangeForm, VersionForm, read_form
from app.surfaces.console.pages.memories import row_of
from app.surfaces.console.pages.memory import PATH, known
from app.surfaces.console.templating import last_part
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import BAD_REQUEST, CONFLICT, ENGINE, NOT_FOUND, Route, Visit

SAMPLES = 20
"""Number of memories shown in a preview."""


class BulkForm(ChangeForm):
    """Memories that were ticked, each as its version and id, or as its id alone."""

    memory: tuple[str, ...] = ()

    def chosen(self) -> list[tuple[str, str]]:
        """Return the version and the id of each, of which there must be one."""
        if not self.memory:
            raise InvalidArgument.of_field("memory", TEXTS.choose_first)
        split = (ticked.rpartition(" ") for ticked in self.memory)
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
        path = memory_path(visit, memory)
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
    body = {"filter": wanted, "sampleSize": SAMPLES}
    found = (await visit.api.ask(f"{visit.engine_path}/memories:purge", body))["response"]
    samples, count = found["samples"] or [], found["purgeCount"]
    return _bulk(visit, "delete", row, samples, count=count, filter=wanted)


async def ask_bulk(
    visit: Visit, deed: str, row: FilterRow, *more: tuple[str, str], also: str = ""
) -> Response:
    """Ask whether to do a deed of the texts to the ticked memories, or to the whole page."""
    listed = await visit.listed(f"{visit.engine_path}/memories", row, *more, also=also)
    if listed.fault:
        raise InvalidArgument.of_field("filter", listed.fault)
    memories = listed.rows
    missing = 0
    if visit.request.query_params.get("which") != "page":
        if "memory" not in visit.request.query_params:
            name = "deleted" if deed == "recover" else "memories"
            return visit.done(row.at(f"{visit.engine_url}/{name}"), "none_chosen")
        ids = visit.chosen()
        memories = [memory for memory in memories if last_part(memory["name"]) in ids]
        missing = len(ids) - len(memories)
    chosen = [f"{memory['etag']} {last_part(memory['name'])}" for memory in memories]
    return _bulk(visit, deed, row, memories, chosen=chosen, missing=missing)


def _until_now(visit: Visit) -> str:
    # Without the condition on time, a purge by scope would also drop events that wait in streams.
    row = row_of(visit)
    if row.is_empty:
        raise InvalidArgument.of_field("filter", TEXTS.filter_first)
    now = filters.quoted(format_timestamp(visit.now))
    return filters.all_of([row.text_of_api(), f"update_time<={now}"])


def _bulk(
    visit: Visit, deed: str, row: FilterRow, memories: Sequence[Json], **found: object
) -> Response:
    own = {"count": len(memories), "filter": "", "chosen": (), "missing": 0, **found}
    own |= {"query": row.query(), "here": carried.address(visit.request)}
    own["filled"] = visit.filled(LabelForm)
    samples, words = memories[:SAMPLES], TEXTS.bulk[deed]
    return visit.render("bulk.html", deed=deed, words=words, samples=samples, **own)


async def label(visit: Visit) -> Response:
    """Show the memories to label, with the fields of the label."""
    return await ask_bulk(visit, "label", row_of(visit))


async def label_chosen(visit: Visit) -> Response:
    """Set a pair of the metadata of memories, or remove it, and leave the rest of it."""
    form = await read_form(visit.request, LabelForm, visit.session)
    changes = {memory: form.change(visit, etag, memory) for etag, memory in form.chosen()}
    back = row_of(visit).at(f"{visit.engine_url}/memories")
    refused = await refused_page(visit, changes, back)
    return refused or visit.done(back, "labelled", count=str(len(changes)))


async def refused_page(
    visit: Visit, changes: Mapping[str, Awaitable[Json]], back: str
) -> Response | None:
    """Make the changes of memories; return a page with those that are refused, if any is."""
    refused = await refusals(changes)
    if not refused:
        return None
    done = len(changes) - len(refused)
    return visit.render("refused.html", CONFLICT, refused=refused, done=done, back=back)


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
    changes = {
        memory: visit.api.send(
            "DELETE", memory_path(visit, memory), request_id=form.id_for(memory), etag=etag
        )
        for etag, memory in form.chosen()
    }
    refused = await refused_page(visit, changes, back)
    gone = list(changes)
    way_back = f"{visit.engine_url}/recovery"
    return refused or await _deleted(visit, back, len(gone), way_back, gone)


def memory_path(visit: Visit, memory: str) -> str:
    """Return the path of a memory in the API."""
    return f"{visit.engine_path}/memories/{quote(memory, safe='')}"


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
    memory = await known(visit)
    return visit.render("removal.html", status, memory=memory, labels=labels, fault=fault)


async def delete_one(visit: Visit) -> Response:
    """Delete a memory; after a concurrent change, ask again."""
    form = await read_form(visit.request, RemovalForm, visit.session)
    try:
        await visit.api.send(
            "DELETE", visit.own_path, form.body(), request_id=form.request_id, etag=form.etag
        )
    except ApiRefusal as refused:
        if refused.is_stale:
            return await _ask(visit, CONFLICT, form.labels, TEXTS.delete_stale)
        if isinstance(refused, ApiFault):
            return await _ask(visit, BAD_REQUEST, form.labels, refused.message)
        if refused.status == NOT_FOUND:
            # Deleted meanwhile; the page says so, if the key may see that.
            return await _ask(visit, CONFLICT)
        raise
    is_shown = visit.may(Permission.REVISIONS_LIST)
    shown = visit.own_url if is_shown else f"{visit.engine_url}/memories"
    memory = visit.id_of("memory")
    return await _deleted(visit, shown, 1, f"{visit.own_url}/undelete", [memory])


async def ask_for_id(visit: Visit, status: int = 200, fault: str = "") -> Response:
    """Ask for the id of a memory before it is erased."""
    memory = await known(visit)
    return visit.render("erasure.html", status, memory=memory, fault=fault)


async def erase(visit: Visit) -> Response:
    """Erase a memory with its whole history if the user typed its id."""
    form = await read_form(visit.request, ErasureForm, visit.session)
    if form.typed.strip() != visit.id_of("memory"):
        return await ask_for_id(visit, BAD_REQUEST, TEXTS.erase_mismatch)
    await visit.api.erase(visit.own_path, form.request_id)
    return visit.done(f"{visit.engine_url}/{form.back}", "erased")


ROUTES = (
    Route(f"{ENGINE}/deletion", get=preview, post=delete),
    Route(f"{ENGINE}/labelling", get=label, post=label_chosen, kept=LabelForm),
    Route(f"{PATH}/delete", get=ask, post=delete_one, kept=RemovalForm),
    Route(f"{PATH}/erase", get=ask_for_id, post=erase),
)
