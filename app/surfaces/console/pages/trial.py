"""Trial of an engine's settings: a preview of the memories from a conversation."""

import asyncio
import re
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from app.surfaces import filters
from app.surfaces.api import ApiRefusal, Json
from app.surfaces.console.filterrow import locked_pairs
from app.surfaces.console.forms import ChangeForm, read_form
from app.surfaces.console.templating import last_part
from app.surfaces.console.visits import BAD_REQUEST, ENGINE, Route, Visit, redirect

_PATH = f"{ENGINE}/settings/try"
_WAITS_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.5)
"""The delays between polls of the preview, before the page reports that it is not ready."""
_TURN = re.compile(r"(?i)\s*(user|model)\s*:\s*")


class TrialForm(ChangeForm):
    """A talk, one turn a line, and the scope that it belongs to."""

    scope: str = ""
    talk: str = ""

    def body(self, locked: tuple[str, ...]) -> dict[str, Any]:
        """Return the request of a preview; the locked part of the scope wins."""
        written = (*self.scope.splitlines(), *locked)
        pairs = map(filters.split_pair, filter(str.strip, written))
        lines = filter(str.strip, self.talk.splitlines())
        return {
            "scope": {key: value or "" for key, value in pairs},
            "directContentsSource": {"events": [_event(line) for line in lines]},
            "validateOnly": True,
        }


def _event(line: str) -> dict[str, Any]:
    match = _TURN.match(line)
    role = match[1].lower() if match else "user"
    text = line[match.end() :] if match else line
    return {"content": {"role": role, "parts": [{"text": text}]}}


async def show(visit: Visit) -> Response:
    """Show the form, or the preview that was asked for."""
    operation_id = visit.request.query_params.get("operation", "")
    if operation_id:
        return _page(visit, operation=await _waited(visit, operation_id))
    return _page(visit)


async def _waited(visit: Visit, operation_id: str) -> Json:
    """Wait a few seconds for an operation and return its latest state."""
    path = f"{visit.engine_path}/operations/{quote(operation_id, safe='')}"
    operation = await visit.api.get(path)
    for seconds in _WAITS_SECONDS:
        if operation["done"]:
            break
        await asyncio.sleep(seconds)
        operation = await visit.api.get(path)
    return operation


def _page(
    visit: Visit,
    *,
    form: TrialForm | None = None,
    operation: Json | None = None,
    refused: ApiRefusal | None = None,
) -> Response:
    faults = {} if refused is None else refused.fields or {"": refused.message}
    return visit.render(
        "trial.html",
        BAD_REQUEST if refused else 200,
        form=form or TrialForm(request_id="-"),
        operation=operation,
        faults=faults,
        here=f"{visit.engine_url}/settings/try",
    )


async def run(visit: Visit) -> Response:
    """Start the preview for a conversation."""
    form = await read_form(visit.request, TrialForm, visit.session)
    locked = locked_pairs(visit.session.caller.reach.conditions)
    try:
        operation = await visit.api.send(
            "POST",
            f"{visit.engine_path}/memories:generate",
            form.body(locked),
            request_id=form.request_id,
        )
    except ApiRefusal as refused:
        if refused.status != BAD_REQUEST:
            raise
        return _page(visit, form=form, refused=refused)
    return redirect(f"{visit.engine_url}/settings/try?operation={last_part(operation['name'])}")


ROUTES = (Route(_PATH, get=show, post=run),)
