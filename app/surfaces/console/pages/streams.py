"""Screen 10: the ingestion streams with their waiting events, and the flush of a stream."""

import json

from pydantic import Field
from starlette.responses import Response

from app.kernel.errors import InvalidArgument
from app.surfaces.api import ApiRefusal
from app.surfaces.console.filterrow import SCOPES, FilterField, FilterRow, equals
from app.surfaces.console.forms import ChangeForm, read_form
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import ENGINE, Route, Visit

FAILING = "failure_count>0"
"""The filter for streams whose last generation failed; they pause, or soon will."""
_STATES = {"waiting": "pending_count>0", "failing": FAILING}
_FIELDS = (
    FilterField("stream", TEXTS.stream, equals("stream_id")),
    FilterField(
        "state",
        TEXTS.state,
        lambda written: _STATES.get(written, ""),
        "select",
        {"waiting": TEXTS.streams_waiting, "failing": TEXTS.streams_failing},
    ),
)


class FlushForm(ChangeForm):
    """The stream to flush: its scope as JSON, and its id."""

    scope: str = Field(min_length=1)
    stream_id: str = ""


def _row(visit: Visit) -> FilterRow:
    return FilterRow.of(visit.request.query_params, _FIELDS, (SCOPES,))


async def show(visit: Visit, refused: ApiRefusal | None = None) -> Response:
    """Show a page of streams, with the API's refusal of a flush."""
    row = _row(visit)
    listed = await visit.listed(f"{visit.engine_path}/streams", row)
    return visit.render_list(
        "streams.html",
        row,
        listed,
        refused.status if refused else None,
        refused=refused and refused.message,
        here=f"{visit.engine_url}/streams",
    )


async def flush(visit: Visit) -> Response:
    """Flush a stream: generate memories from its waiting events now."""
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
        return await show(visit, refused)
    return visit.done(_row(visit).at(f"{visit.engine_url}/streams"), "flushed")


ROUTES = (
    Route(f"{ENGINE}/streams", get=show),
    Route(f"{ENGINE}/streams/flush", post=flush),
)
