"""Screen 10: the streams of ingestion: what waits, until when, and why; and the flush of one."""

import json
from urllib.parse import urlencode

from pydantic import Field
from starlette.responses import Response

from app.kernel.errors import InvalidArgument
from app.kernel.permissions import Permission
from app.surfaces.console import filters
from app.surfaces.console.api import ApiRefusal
from app.surfaces.console.forms import ChangeForm, read_form
from app.surfaces.console.routing import ENGINE, Route
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import BAD_REQUEST, Visit, redirect

_STATES = {
    "waiting": (TEXTS.streams_waiting, "pending_count>0"),
    "failing": (TEXTS.streams_failing, "failure_count>0"),
}
FAILING = _STATES["failing"][1]
"""The filter that finds the streams whose last generation failed, which rest or soon will."""


class FlushForm(ChangeForm):
    """The stream to flush: its scope as JSON, and its id."""

    scope: str = Field(min_length=1)
    stream_id: str = ""


async def show(visit: Visit) -> Response:
    """Show a page of streams."""
    return await _page(visit)


async def _page(visit: Visit, refused: ApiRefusal | None = None) -> Response:
    query = visit.request.query_params
    chosen = {name: query.get(name, "").strip() for name in ("scope", "stream", "state")}
    parts = [filters.pair("scope", chosen["scope"])] if chosen["scope"] else []
    if chosen["stream"]:
        parts.append(f"stream_id={filters.quoted(chosen['stream'])}")
    if chosen["state"] in _STATES:
        parts.append(_STATES[chosen["state"]][1])
    answer, fault = await visit.listed(f"{visit.engine_path}/streams", filters.all_of(parts))
    token = answer["nextPageToken"]
    kept = {name: value for name, value in chosen.items() if value}
    return visit.render(
        "streams.html",
        refused.status if refused else BAD_REQUEST if fault else 200,
        streams=answer["streams"] or [],
        chosen=chosen,
        states={name: label for name, (label, _) in _STATES.items()},
        fault=fault,
        refused=refused and refused.message,
        may_flush=visit.may(Permission.MEMORIES_INGEST),
        here=f"{visit.engine_url}/streams",
        older=urlencode({**kept, "page": token}) if token else None,
    )


async def flush(visit: Visit) -> Response:
    """Flush a stream, whose waiting events become memories now."""
    form = await read_form(visit.request, FlushForm, visit.session)
    try:
        scope = json.loads(form.scope)
    except (ValueError, RecursionError):
        raise InvalidArgument.of_field("scope", "must be JSON; reload the page.") from None
    try:
        await visit.api.send(
            "POST",
            f"{visit.engine_path}/streams:flush",
            {"scope": scope, "streamId": form.stream_id},
            request_id=form.request_id,
        )
    except ApiRefusal as refused:
        return await _page(visit, refused)
    return redirect(f"{visit.engine_url}/streams")


ROUTES = (
    Route(f"{ENGINE}/streams", get=show),
    Route(f"{ENGINE}/streams/flush", post=flush),
)
