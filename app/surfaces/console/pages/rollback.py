"""Rollback of one memory: a preview, then the change."""

import asyncio
from urllib.parse import quote

from pydantic import Field
from starlette.responses import Response

from app.kernel.errors import InvalidArgument
from app.surfaces.api import ApiRefusal
from app.surfaces.console.forms import VersionForm, read_form
from app.surfaces.console.pages.memory import COMPARED, PATH, changes, comparable, path_of, url_of
from app.surfaces.console.templating import last_part
from app.surfaces.console.visits import CONFLICT, Route, Visit, redirect


class RollbackForm(VersionForm):
    """The revision to restore."""

    revision: str = Field(min_length=1)


async def preview(visit: Visit) -> Response:
    """Show the changes of a rollback to a revision."""
    revision = visit.request.query_params.get("revision", "")
    if not revision:
        raise InvalidArgument.of_field("revision", "must be the id of a revision of the memory.")
    return await _preview(visit, revision, 200)


async def _preview(visit: Visit, revision: str, status: int) -> Response:
    path = path_of(visit)
    memory, target = await asyncio.gather(
        visit.api.get(path), visit.api.get(f"{path}/revisions/{quote(revision, safe='')}")
    )
    fields = {key: label for key, label in COMPARED.items() if key != "expireTime"}
    differences = await asyncio.to_thread(changes, comparable(memory), comparable(target), fields)
    return visit.render(
        "rollback.html",
        status,
        changes=[change for change in differences if change.is_change],
        etag=memory["etag"],
        revision=last_part(target["name"]),
        target=target,
        is_stale=status == CONFLICT,
        here=url_of(visit),
    )


async def roll_back(visit: Visit) -> Response:
    """Roll a memory back; after a concurrent change, show a new preview."""
    form = await read_form(visit.request, RollbackForm, visit.session)
    try:
        await visit.api.send(
            "POST",
            f"{path_of(visit)}:rollback",
            {"targetRevisionId": form.revision},
            request_id=form.request_id,
            etag=form.etag,
        )
    except ApiRefusal as refused:
        if refused.is_stale:
            return await _preview(visit, form.revision, CONFLICT)
        raise
    return redirect(url_of(visit))


ROUTES = (Route(f"{PATH}/rollback", get=preview, post=roll_back),)
