"""Screen 9: the operations of an engine with their results, costs and changes."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from starlette.responses import Response

from app.kernel.permissions import Permission
from app.kernel.wire.scalars import format_timestamp
from app.surfaces import filters
from app.surfaces.api import ApiRefusal, Json
from app.surfaces.console.filterrow import (
    MADE_BETWEEN,
    SCOPES,
    FilterField,
    FilterRow,
    equals,
    named,
    since,
    until,
)
from app.surfaces.console.forms import ChangeForm, read_form
from app.surfaces.console.templating import last_part
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import ENGINE, Route, Visit, redirect

PATH = f"{ENGINE}/operations/{{operation}}"
_STATES = ("PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED")
_KINDS = (
    "generation.generate",
    "generation.preview",
    "ingestion.ingest",
    "memories.batchCreate",
    "memories.create",
    "memories.delete",
    "memories.import",
    "memories.purge",
    "memories.rollback",
    "memories.update",
    "undo.undo",
)
"""The most common kinds; for an unknown kind, the API's error lists all of them."""
_ANSWERS = named("true", "false")
FAILURES = "state=FAILED AND retried=false"
"""Filter of the failures that no retry has made good."""


def _in_state(state: str) -> str:
    return FAILURES if state == "FAILED" else f"state={filters.quoted(state)}"


_FIELDS = (
    FilterField("state", TEXTS.state, _in_state, "select", named(*_STATES)),
    FilterField("retried", TEXTS.retried, lambda written: f"retried={written}", "select", _ANSWERS),
    FilterField("done", TEXTS.done, lambda written: f"done={written}", "select", _ANSWERS),
    FilterField("kind", TEXTS.kind, equals("kind"), "text", named(*_KINDS)),
    FilterField("reason", TEXTS.reason, equals("error.reason")),
    FilterField("author", TEXTS.model, equals("author")),
    FilterField("caller", TEXTS.caller, equals("caller")),
    FilterField("session", TEXTS.filter_session, equals("source.session")),
    *MADE_BETWEEN,
    since("update_time", "ended_after", TEXTS.filter_ended_after),
    until("update_time", "ended_before", TEXTS.filter_ended_before),
)
_WITH_SOURCE = frozenset(
    {
        "generation.generate",
        "ingestion.ingest",
        "memories.batchCreate",
        "memories.create",
        "memories.import",
    }
)
"""The kinds that write memories made of something, which their metadata name."""
_LISTS = ("generatedMemories", "plannedChanges", "undoneMemories", "skippedMemories")
"""The lists in responses that give the fate of each memory."""
_CHANGED = {"createdCount": "CREATED", "updatedCount": "UPDATED", "deletedCount": "DELETED"}
"""The counts in metadata that give the fates of memories if the response has no list."""
_DROPPED = ("unsupportedFactCount", "offTopicFactCount")


async def show(visit: Visit) -> Response:
    """Show a page of operations, newest first."""
    row = row_of(visit)
    listed = await visit.listed(f"{visit.engine_path}/operations", row)
    has_failures = row.values["state"] == "FAILED" and bool(listed.rows)
    failures = Json()
    if has_failures:
        query = [("filter", row.text_of_api())]
        failures = await visit.api.get(f"{visit.engine_path}/operations:groupFailures", query)
    return visit.render_list(
        "operations.html",
        row,
        listed,
        operations=[
            Json(
                summary_of(operation, visit.now), may_retry=_may_retry(visit, operation["metadata"])
            )
            for operation in listed.rows
        ],
        may_retry=has_failures and visit.may(Permission.MEMORIES_GENERATE),
        failures=failures,
        groups=[_group(row, group) for group in failures["failureGroups"] or []],
    )


def row_of(visit: Visit) -> FilterRow:
    """Read the filter row of the list."""
    return FilterRow.of(visit.request.query_params, _FIELDS, (SCOPES,))


def _group(row: FilterRow, group: Json) -> Json:
    begin = datetime.fromisoformat(group["startTime"])
    own = {
        "reason": group["reason"],
        "author": group["author"],
        "ended_after": f"{begin:%Y-%m-%dT%H:%M}",
        "ended_before": f"{begin + timedelta(hours=1):%Y-%m-%dT%H:%M}",
    }
    narrowed = replace(row, values={**row.values, **own})
    return Json(group, hour=f"{begin:%Y-%m-%d %H:%M} UTC", query=narrowed.query())


def summary_of(operation: Json, now: datetime) -> Json:
    """Return the data of an operation that pages show."""
    metadata = operation["metadata"]
    times = metadata["genericMetadata"]
    error = operation["error"] or Json()
    return Json(
        id=last_part(operation["name"]),
        metadata=metadata,
        is_done=operation["done"] or False,
        error=error["message"],
        reason=next(
            (detail["reason"] for detail in error["details"] or [] if detail["reason"]), None
        ),
        created=times["createTime"],
        seconds=_seconds(operation, now),
        counts=_counts(operation),
        others=_other_counts(metadata),
    )


def _seconds(operation: Json, now: datetime) -> float:
    """Return the seconds that an operation ran, or waited if it has not started."""
    times = operation["metadata"]["genericMetadata"]
    begin = datetime.fromisoformat(operation["metadata"]["startTime"] or times["createTime"])
    end = datetime.fromisoformat(times["updateTime"]) if operation["done"] else now
    return round((end - begin).total_seconds(), 1)


def _counts(operation: Json) -> dict[str, int]:
    response, metadata = operation["response"] or Json(), operation["metadata"]
    fates = Counter(
        change["action"] or change["reason"] for name in _LISTS for change in response[name] or []
    )
    if not fates:
        fates.update({fate: metadata[name] or 0 for name, fate in _CHANGED.items()})
    fates.update(
        {TEXTS.run_again: response["retryCount"] or 0, **(response["refusedCounts"] or {})}
    )
    fates[TEXTS.dropped] = sum(int(metadata[name] or 0) for name in _DROPPED)
    fates.update({fate: metadata[name] or 0 for name, fate in TEXTS.passed_over_chips.items()})
    fates[TEXTS.older_facts] = (metadata["droppedFactCounts"] or {}).get("OLDER", 0)
    return {fate: count for fate, count in fates.items() if count}


def _other_counts(metadata: Json) -> dict[str, object]:
    usual = {"attemptCount", "modelCallCount", "inputTokenCount", "outputTokenCount"}
    usual |= {*_CHANGED, *TEXTS.passed_over_chips}
    return {
        name: value
        for name, value in sorted(metadata.items())
        if name.endswith("Count") and name not in usual
    }


async def show_operation(visit: Visit, fault: str = "", status: int = 200) -> Response:
    """Show an operation with its revisions; the page refreshes itself until it is done."""
    # Revisions are read last: otherwise an operation that ends meanwhile would show none.
    operation = await visit.api.get(visit.own_path)
    listed = await revisions_of(visit)
    shown = summary_of(operation, visit.now)
    response = operation["response"] or Json()
    metadata = shown["metadata"]
    is_undone = await _is_undone(visit, metadata)
    may_undo = visit.may(Permission.OPERATIONS_UNDO) and not is_undone
    # A user without access to revisions may still be allowed to undo.
    has_effect = bool(listed["memoryRevisions"]) or not visit.may(Permission.REVISIONS_LIST)
    return visit.render(
        "operation.html",
        status,
        operation=shown,
        revisions=listed["memoryRevisions"] or [],
        certificate=response if response["certificateId"] else None,
        response=response,
        fault=fault,
        may_retry=_may_retry(visit, metadata),
        is_undone=is_undone,
        may_undo=shown["is_done"] and has_effect and may_undo,
        key_names=await visit.key_names([metadata["caller"]]),
        has_source=bool(metadata["source"]) or metadata["kind"] in _WITH_SOURCE,
        older=visit.next_page(listed),
    )


async def _is_undone(visit: Visit, metadata: Json, most: int = 5) -> bool:
    """Return True if the last undo of an operation had an effect and was not undone itself."""
    if not metadata["undoneBy"] or not most:
        return False
    undo = await visit.answered(f"/v1beta1/{metadata['undoneBy']}") or Json()
    about = undo["metadata"] or Json()
    if about["state"] in {"FAILED", "CANCELLED"} or about["undoneCount"] == 0:
        return False
    return not await _is_undone(visit, about, most - 1)


def _may_retry(visit: Visit, metadata: Json) -> bool:
    way = visit.resources.registry.retries.get(metadata["kind"])
    is_open = metadata["state"] == "FAILED" and not metadata["retriedBy"]
    return is_open and way is not None and visit.may(way.permission)


async def revisions_of(visit: Visit) -> Json:
    """Return a page of the operation's revisions; empty if the user may not see them."""
    chosen = f"operation={filters.quoted(visit.id_of('operation'))}"
    query = [*visit.page_query(), ("filter", chosen)]
    path = f"{visit.engine_path}/memories/-/revisions"
    return await visit.visible(Permission.REVISIONS_LIST, path, query)


async def cancel(visit: Visit) -> Response:
    """Cancel an operation."""
    return await _send(visit, "cancel", lambda _: visit.done(visit.own_url, "cancelled"))


async def retry(visit: Visit) -> Response:
    """Retry a failed operation and show the new one."""
    return await _send(
        visit, "retry", lambda made: visit.done(visit.url_of_operation(made), "retried")
    )


async def preview(visit: Visit) -> Response:
    """Run a failed generation without writing, and show what it would write."""
    above = f"{visit.engine_url}/try?operation="
    return await _send(
        visit, "retry", lambda made: redirect(above + last_part(made["name"])), validateOnly=True
    )


async def _send(
    visit: Visit, verb: str, answer: Callable[[Json], Response], **body: object
) -> Response:
    """Change an operation; its page shows a refusal of the API."""
    form = await read_form(visit.request, ChangeForm, visit.session)
    try:
        made = await visit.api.send(
            "POST", f"{visit.own_path}:{verb}", body, request_id=form.request_id
        )
    except ApiRefusal as refused:
        if refused.is_forbidden:
            raise
        return await show_operation(visit, refused.message, refused.status)
    return answer(made)


class RetryForm(ChangeForm):
    """The operations to run again: those that are ticked, or all that match a filter."""

    operation: tuple[str, ...] = ()
    filter: str = ""

    @property
    def wanted(self) -> str:
        """The filter of the operations."""
        ticked = (f"name={filters.quoted(operation)}" for operation in self.operation)
        return self.filter or " OR ".join(ticked)


def _batch_path(visit: Visit) -> str:
    return f"{visit.engine_path}/operations:batchRetry"


async def ask_for_many(visit: Visit) -> Response:
    """Ask for confirmation, with the number of operations that would run again."""
    row = row_of(visit)
    now = filters.quoted(format_timestamp(visit.now))
    # What fails afterwards was not counted.
    wanted = filters.all_of([row.text_of_api(), f"update_time<={now}"])
    done = await visit.api.ask(_batch_path(visit), {"filter": wanted, "validateOnly": True})
    found = done["response"]
    back = f"{visit.engine_url}/operations?{row.query()}"
    return visit.render("retries.html", found=found, filter=wanted, back=back)


async def retry_many(visit: Visit) -> Response:
    """Run operations again, and show the operation that does it."""
    form = await read_form(visit.request, RetryForm, visit.session)
    if not form.wanted:
        return visit.done(f"{visit.engine_url}/operations?state=FAILED", "none_chosen")
    body = {"filter": form.wanted}
    operation = await visit.api.send("POST", _batch_path(visit), body, request_id=form.request_id)
    return visit.done(visit.url_of_operation(operation), "retried_many")


ROUTES = (
    Route(f"{ENGINE}/operations", get=show),
    Route(PATH, get=show_operation),
    Route(f"{PATH}/cancel", post=cancel),
    Route(f"{PATH}/retry", post=retry),
    Route(f"{PATH}/try", post=preview),
    Route(f"{ENGINE}/retries", get=ask_for_many, post=retry_many),
)
