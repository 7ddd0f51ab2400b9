"""Deletion of one memory, which can be undone, and its permanent erasure."""

from typing import Any, Literal

from starlette.responses import Response

from app.kernel.permissions import Permission
from app.surfaces import filters
from app.surfaces.api import ApiRefusal
from app.surfaces.console.forms import ChangeForm, VersionForm, read_form
from app.surfaces.console.pages.memory import PATH, known, path_of, url_of
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import BAD_REQUEST, CONFLICT, Route, Visit, redirect


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


async def delete(visit: Visit) -> Response:
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
    Route(f"{PATH}/delete", get=ask, post=delete),
    Route(f"{PATH}/erase", get=ask_for_id, post=erase),
)
