"""Retry of many failed operations: those that are ticked, or all of a filter after a count."""

from starlette.responses import Response

from app.kernel.errors import InvalidArgument
from app.kernel.wire.scalars import format_timestamp
from app.surfaces import filters
from app.surfaces.console.forms import ChangeForm, read_form
from app.surfaces.console.pages.operations import row_of
from app.surfaces.console.templating import last_part
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import ENGINE, Route, Visit


class RetryForm(ChangeForm):
    """The operations to run again: those that are ticked, or all that match a filter."""

    operation: tuple[str, ...] = ()
    filter: str = ""

    @property
    def wanted(self) -> str:
        """The filter of the operations."""
        ticked = (f"name={filters.quoted(operation)}" for operation in self.operation)
        return self.filter or " OR ".join(ticked)


def _path(visit: Visit) -> str:
    return f"{visit.engine_path}/operations:batchRetry"


async def ask(visit: Visit) -> Response:
    """Ask for confirmation, with the number of operations that would run again."""
    row = row_of(visit)
    now = filters.quoted(format_timestamp(visit.now))
    # What fails afterwards was not counted.
    wanted = filters.all_of([row.text_of_api(), f"update_time<={now}"])
    done = await visit.api.ask(_path(visit), {"filter": wanted, "validateOnly": True})
    found = done["response"]
    back = f"{visit.engine_url}/operations?{row.query()}"
    return visit.render("retries.html", found=found, filter=wanted, back=back)


async def retry(visit: Visit) -> Response:
    """Run operations again, and show the operation that does it."""
    form = await read_form(visit.request, RetryForm, visit.session)
    if not form.wanted:
        raise InvalidArgument.of_field("operation", TEXTS.choose_first)
    body = {"filter": form.wanted}
    operation = await visit.api.send("POST", _path(visit), body, request_id=form.request_id)
    return visit.done(f"{visit.engine_url}/operations/{last_part(operation['name'])}", "retried")


ROUTES = (Route(f"{ENGINE}/retries", get=ask, post=retry),)
