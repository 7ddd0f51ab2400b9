"""Screen 11: the sessions of an engine; one session by exchange, its summaries, their deletion.

Screen 12: previews of a session's context under two policies, side by side.
"""

import asyncio
from collections.abc import Mapping
from itertools import groupby
from math import ceil
from operator import itemgetter
from typing import Any
from urllib.parse import quote, urlencode

from pydantic import Field
from starlette.responses import Response

from app.kernel.errors import NotFound
from app.kernel.permissions import Permission
from app.language.tokens import estimate_tokens
from app.surfaces import filters
from app.surfaces.api import ApiFault, ApiRefusal, Json
from app.surfaces.console.filterrow import (
    CHANGED_BETWEEN,
    FilterChips,
    FilterField,
    FilterRow,
    equals,
)
from app.surfaces.console.forms import ChangeForm, number_of, read_form
from app.surfaces.console.pages.operations import summary_of
from app.surfaces.console.templating import last_part, pretty
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import ENGINE, Route, Visit

PATH = f"{ENGINE}/sessions/{{session}}"
_SUMMARIES = "summaries"
"""The parameter for the page token of the summaries."""
_AT_ONE_MOMENT = "1000"
_MADE = "10"
"""Operations shown of those that made memories of the session."""
_MAX_WHOLE = 50_000
_CHIPS = (FilterChips("label", TEXTS.filter_label, "labels"),)
_FIELDS = (FilterField("user", TEXTS.user, equals("user_id")), *CHANGED_BETWEEN)


class SummaryForm(ChangeForm):
    """The summary to make again."""

    summary: str = Field(min_length=1)


async def show(visit: Visit) -> Response:
    """Show a session with a page of its events and a page of its summaries."""
    path, id_ = visit.own_path, visit.id_of("session")
    session, usage = await asyncio.gather(visit.api.get(path), visit.api.get(f"{path}/usage"))
    events, summaries, made = await asyncio.gather(
        visit.visible(Permission.EVENTS_LIST, f"{path}/events", visit.page_query()),
        visit.visible(
            Permission.EVENTS_LIST, f"{path}/summaries", visit.page_query(parameter=_SUMMARIES)
        ),
        visit.visible(
            Permission.OPERATIONS_LIST,
            f"{visit.engine_path}/operations",
            [("filter", f"source.session={filters.quoted(id_)}"), ("pageSize", _MADE)],
        ),
    )
    return visit.render(
        "session.html",
        state=session,
        usage=usage,
        exchanges=_exchanges(events["sessionEvents"] or [], visit.engine_url),
        older=visit.next_page(events),
        summaries=summaries["summaries"] or [],
        older_summaries=visit.next_page(summaries, _SUMMARIES),
        first_of_summaries=visit.first_page(_SUMMARIES),
        is_first_of_summaries=_SUMMARIES not in visit.request.query_params,
        made=[summary_of(operation, visit.now) for operation in made["operations"] or []],
    )


def _exchanges(events: list[Json], engine_url: str) -> list[list[Json]]:
    """Group events by exchange: a user's message with the events up to the next one."""
    groups = groupby(events, key=itemgetter("exchange"))
    return [[_event_of(event, engine_url) for event in group] for _, group in groups]


def _event_of(event: Json, engine_url: str) -> Json:
    id_ = last_part(event["name"])
    content = event["content"] or Json()
    parts = [_part_of(part, engine_url) for part in content["parts"] or []]
    declared = event["tokenCount"]
    estimated = TEXTS.about.format(number=sum(estimate_tokens(part["text"]) for part in parts))
    query = urlencode({"at": event["timestamp"]})
    return Json(
        id=id_,
        author=event["author"],
        timestamp=event["timestamp"],
        parts=parts,
        error=event["errorMessage"],
        seq=event["seq"],
        tokens=estimated if declared is None else declared,
        url=f"events/{quote(id_, safe='')}?{query}",
    )


def _part_of(part: Json, engine_url: str) -> Json:
    if held := part["artifactRef"]:
        place = f"{quote(held['memory'], safe='')}/{quote(held['namespace'], safe='')}"
        sizes = [f"{part['name']} {part['sizeBytes'] or ''}" for part in held["artifacts"] or []]
        text = f"{held['memory']}/{held['namespace']} {', '.join(sizes)}"
        return Json(what=TEXTS.in_task_memory, text=text, url=f"{engine_url}/tasks/{place}")
    for key, what in (("functionCall", TEXTS.tool_call), ("functionResponse", TEXTS.tool_answer)):
        if key in part:
            return Json(what=what, text=pretty(part[key]))
    file = part["inlineData"] or part["fileData"]
    if file:
        known = (file["displayName"], file["mimeType"], file["fileUri"])
        return Json(what=TEXTS.file, text=" ".join(text for text in known if text))
    return Json(text=part["text"] or "")


async def show_event(visit: Visit) -> Response:
    """Show one event in full, with the form that erases it."""
    at = visit.request.query_params.get("at", "")
    id_ = visit.id_of("event")
    # The API has no route for one event, so the list is filtered by time.
    query = [("filter", f"timestamp={filters.quoted(at)}"), ("pageSize", _AT_ONE_MOMENT)]
    listed = await visit.api.get(f"{visit.own_path}/events", query)
    event = next(
        (event for event in listed["sessionEvents"] or [] if last_part(event["name"]) == id_), None
    )
    if event is None:
        raise NotFound.of(f"{visit.own_path}/events/{quote(id_, safe='')}")
    return visit.render(
        "event.html",
        event=event,
        event_id=id_,
        whole=pretty(event)[:_MAX_WHOLE],
        action=f"{visit.own_url}/events/{visit.quoted('event')}",
    )


async def erase_event(visit: Visit) -> Response:
    """Erase one event permanently."""
    form = await read_form(visit.request, ChangeForm, visit.session)
    path = f"{visit.own_path}/events/{visit.quoted('event')}"
    await visit.api.send("DELETE", path, request_id=form.request_id)
    return visit.done(visit.own_url, "erased_event")


async def summarise_again(visit: Visit) -> Response:
    """Regenerate a summary."""
    form = await read_form(visit.request, SummaryForm, visit.session)
    path = f"{visit.own_path}/summaries/{quote(form.summary, safe='')}:regenerate"
    await visit.api.send("POST", path, request_id=form.request_id)
    return visit.done(visit.own_url, "summarised")


async def ask_to_delete(visit: Visit) -> Response:
    """Ask for confirmation before a session is deleted."""
    path = visit.own_path
    session, usage = await asyncio.gather(visit.api.get(path), visit.api.get(f"{path}/usage"))
    return visit.render("session_delete.html", state=session, usage=usage)


async def delete(visit: Visit) -> Response:
    """Delete a session permanently."""
    form = await read_form(visit.request, ChangeForm, visit.session)
    await visit.api.send("DELETE", visit.own_path, request_id=form.request_id)
    return visit.done(f"{visit.engine_url}/sessions", "deleted_session")


async def show_list(visit: Visit) -> Response:
    """Show a page of sessions."""
    row = FilterRow.of(visit.request.query_params, _FIELDS, _CHIPS, orders=TEXTS.orders)
    listed = await visit.listed(f"{visit.engine_path}/sessions", row)
    return visit.render_list("sessions.html", row, listed)


_OF_SUMMARIES = ("keepRecent", "maxAbstractions", "summaryTokens")
STRATEGIES: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "inclusive": (),
    "window": ("window",),
    "every_n": ("every", *_OF_SUMMARIES),
    "abstraction_inclusive": ("cap", *_OF_SUMMARIES),
    "fully_abstracted": ("cap", "keepRecent", "summaryTokens"),
    "agent_summary": (),
}
"""The strategies, each with its settings among those offered."""
_TIMES = (1, 2, 10)
"""Lengths of the estimates, as multiples of the session's."""
_MOST_MESSAGES, _MOST_TOKENS = 100_000, 100_000
"""Bounds of an estimate."""
_FIRST, _LAST = 10, 40
"""Numbers of messages shown from the beginning and the end of a long context."""
_MAX_RANGES = 200


def _policy(chosen: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the policy of a side; None: the session's own policy."""
    strategy = chosen["strategy"]
    if not strategy:
        return None
    settings = {name: chosen[name] for name in STRATEGIES.get(strategy, ()) if chosen[name]}
    policy: dict[str, Any] = {name: number_of(value) for name, value in settings.items()}
    if strategy == "inclusive":
        policy["onOverflow"] = "omit"
    return {"strategy": strategy, **policy}


def _body(query: Mapping[str, str], chosen: Mapping[str, str]) -> dict[str, Any]:
    asked = {
        "preview": True,
        "policy": _policy(chosen),
        "pendingMessage": query.get("question"),
        "tokenLimit": number_of(query.get("limit", "")),
        "includeMemories": {"query": "auto"} if query.get("memories") else None,
    }
    return _given(asked)


def _given(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if value not in (None, "")}


async def show_context(visit: Visit) -> Response:
    """Show the contexts of a session under two policies."""
    query = visit.request.query_params
    defaults = ({"strategy": ""}, {"strategy": "inclusive"})
    chosen = [
        {
            name: query.get(f"{name}{side}", default.get(name, "")).strip()
            for name in ("strategy", *dict(TEXTS.settings))
        }
        for side, default in enumerate(defaults)
    ]
    session, talk = await asyncio.gather(visit.api.get(visit.own_path), _talk(visit))
    asked = {**talk, "model": query.get("model", "") or None, "configuredPrices": True}
    sides = await asyncio.gather(
        *(_side(visit, _body(query, side), _given(asked)) for side in chosen)
    )
    costs = [side["costs"] for side in sides if side["costs"] and not side["costs"]["fault"]]
    return visit.render(
        "context.html",
        state=session,
        sides=sides,
        chosen=chosen,
        strategies=list(STRATEGIES),
        asked={name: query.get(name, "") for name in ("question", "limit", "memories", "model")},
        priced=costs[0]["pricedModels"] if costs else [],
        talk=talk,
    )


async def _talk(visit: Visit) -> dict[str, Any]:
    """Return the lengths for the estimates: of this session; empty, if nothing is said in it."""
    everything = {"preview": True, "policy": {"strategy": "inclusive", "onOverflow": "omit"}}
    try:
        usage, context = await asyncio.gather(
            visit.api.get(f"{visit.own_path}/usage"),
            visit.api.ask(f"{visit.own_path}:context", everything),
        )
    except ApiRefusal:
        # The sides name the fault.
        return {}
    exchanges = usage["exchangeCount"]
    if not exchanges or not context["messages"]:
        return {}
    tokens = {"user": 0, "assistant": 0}
    for message in map(_message, context["messages"]):
        half = "user" if message["role"] == "user" else "assistant"
        tokens[half] += estimate_tokens(message["text"])
    mean = {half: min(ceil(count / exchanges), _MOST_TOKENS) for half, count in tokens.items()}
    lengths = [min(times * exchanges, _MOST_MESSAGES) for times in _TIMES]
    return {"messages": sorted(set(lengths)), "messageTokens": mean}


async def _side(visit: Visit, body: dict[str, Any], lengths: dict[str, Any]) -> Json:
    try:
        context = await visit.api.ask(f"{visit.own_path}:context", body)
    except ApiFault as refused:
        return Json(fault=refused.message)
    messages = [_message(message) for message in context["messages"] or []]
    cut = max(0, len(messages) - _FIRST - _LAST)
    return Json(
        context=context,
        ranges=_ranges(context["coverage"]),
        first=messages[:_FIRST] if cut else messages,
        cut=cut,
        last=messages[-_LAST:] if cut else [],
        costs=await _costs(visit, {**lengths, "strategies": [context["policy"]]}),
    )


async def _costs(visit: Visit, asked: dict[str, Any]) -> Json:
    if not visit.may(Permission.ENGINES_GET):
        return Json()
    try:
        return await visit.api.ask(f"{visit.engine_path}/contextCosts:estimate", asked)
    except ApiFault as refused:
        return Json(fault=refused.message)


def _ranges(coverage: Json) -> list[Json]:
    fates = {"shown": "verbatim", "summarised": "summarised", "omitted": "omitted"}
    ranges = [
        Json(fate=fate, first=span["firstSeq"], last=span["lastSeq"], summary=span["summary"])
        for fate, key in fates.items()
        for span in coverage[key] or []
    ]
    return sorted(ranges, key=lambda span: span["first"])[:_MAX_RANGES]


def _message(message: Json) -> Json:
    source = message["source"] or Json()
    content = message["content"]
    text = content if isinstance(content, str) else pretty(content or message["tool_calls"])
    return Json(
        role=message["role"],
        kind=source["kind"],
        seq=source["seq"],
        sessions=source["sessions"] or [],
        text=text,
    )


ROUTES = (
    Route(f"{ENGINE}/sessions", get=show_list),
    Route(PATH, get=show),
    Route(f"{PATH}/events/{{event}}", get=show_event, post=erase_event),
    Route(f"{PATH}/summaries", post=summarise_again),
    Route(f"{PATH}/delete", get=ask_to_delete, post=delete),
    Route(f"{PATH}/context", get=show_context),
)
