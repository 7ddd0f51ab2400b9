"""Undo of an operation: a preview of each memory's fate, then the change."""

import asyncio
from collections.abc import Mapping
from urllib.parse import quote

from starlette.responses import Response

from app.kernel.errors import InvalidArgument
from app.surfaces.api import Json
from app.surfaces.console.forms import ChangeForm, read_form
from app.surfaces.console.pages.operations import PATH, revisions_of, summary_of
from app.surfaces.console.templating import last_part
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import Route, Visit, redirect

_SHOWN = 200
"""Largest number of undone and of skipped memories that the preview lists."""


async def show(visit: Visit) -> Response:
    """Show the effect of an operation and, if requested, the preview of its undo."""
    asked = visit.request.query_params.get("preview", "")
    paths = [visit.own_path]
    if asked:
        paths.append(f"{visit.engine_path}/operations/{quote(asked, safe='')}")
    answer, *operations = await asyncio.gather(
        revisions_of(visit), *(visit.api.get(path) for path in paths)
    )
    operation = operations[0]
    preview = operations[1] if asked else None
    if preview is not None and preview["metadata"]["undoneOperation"] != operation["name"]:
        raise InvalidArgument.of_field("preview", "must be a preview of this operation's undo.")
    response: Json = (preview or Json())["response"] or Json()
    undone, skipped = response["undoneMemories"] or [], response["skippedMemories"] or []
    return visit.render(
        "undo.html",
        operation=summary_of(operation, visit.now),
        preview=None if preview is None else summary_of(preview, visit.now),
        undone=[_row(change, answer) for change in undone[:_SHOWN]],
        skipped=[_row(change, answer) for change in skipped[:_SHOWN]],
        sums=(len(undone), len(skipped)),
        fates=TEXTS.undo_fates,
        asked=asked,
    )


def _row(change: Json, answer: Json) -> Json:
    memory = change["memory"]["name"]
    revisions: list[Json] = answer["memoryRevisions"] or []
    facts = (one["fact"] for one in revisions if one["name"].startswith(f"{memory}/"))
    return Json(
        id=last_part(memory), fact=next(facts, None), fate=change["action"] or change["reason"]
    )


async def preview(visit: Visit) -> Response:
    """Start a preview of the undo and show it."""
    operation = await _undo(visit, {"validateOnly": True})
    return redirect(f"{visit.own_url}/undo?preview={last_part(operation['name'])}")


async def undo(visit: Visit) -> Response:
    """Undo an operation and show the operation of the undo."""
    operation = await _undo(visit, {})
    return visit.done(visit.url_of_operation(operation), "undone")


async def _undo(visit: Visit, body: Mapping[str, object]) -> Json:
    form = await read_form(visit.request, ChangeForm, visit.session)
    path = visit.own_path
    return await visit.api.send("POST", f"{path}:undo", body, request_id=form.request_id)


ROUTES = (
    Route(f"{PATH}/undo", get=show, post=undo),
    Route(f"{PATH}/undo/preview", post=preview),
)
