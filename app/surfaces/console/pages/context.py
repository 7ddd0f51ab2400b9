"""Screen 12: previews of a session's context under two policies, side by side."""

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from app.kernel.permissions import Permission
from app.surfaces.api import ApiRefusal, Json
from app.surfaces.console.forms import number_of
from app.surfaces.console.pages.session import PATH, path_of, url_of
from app.surfaces.console.templating import pretty
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import BAD_REQUEST, Route, Visit

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
_LENGTHS = [30, 100]
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
    return {name: value for name, value in asked.items() if value not in (None, "")}


async def show(visit: Visit) -> Response:
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
    session, *sides = await asyncio.gather(
        visit.api.get(path_of(visit)), *(_side(visit, _body(query, side)) for side in chosen)
    )
    return visit.render(
        "context.html",
        state=session,
        sides=sides,
        chosen=chosen,
        strategies=list(STRATEGIES),
        asked={name: query.get(name, "") for name in ("question", "limit", "memories")},
        may_have_memories=visit.may(Permission.MEMORIES_RETRIEVE),
        here=url_of(visit),
    )


async def _side(visit: Visit, body: dict[str, Any]) -> Json:
    """Return a context and its costs, or the API's error message."""
    try:
        context = await visit.api.ask(f"{path_of(visit)}:context", body)
    except ApiRefusal as refused:
        if refused.status != BAD_REQUEST:
            raise
        return Json(fault=refused.message)
    messages = [_message(message) for message in context["messages"] or []]
    cut = max(0, len(messages) - _FIRST - _LAST)
    return Json(
        context=context,
        ranges=_ranges(context["coverage"]),
        first=messages[:_FIRST] if cut else messages,
        cut=cut,
        last=messages[-_LAST:] if cut else [],
        costs=await _costs(visit, context["policy"]),
    )


async def _costs(visit: Visit, policy: Json) -> Json:
    """Return the cost estimates of a policy, or the API's error message."""
    if not visit.may(Permission.ENGINES_GET):
        return Json()
    asked = {"messages": _LENGTHS, "strategies": [policy]}
    try:
        return await visit.api.ask(f"{visit.engine_path}/contextCosts:estimate", asked)
    except ApiRefusal as refused:
        if refused.status != BAD_REQUEST:
            raise
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
        summary=source["summary"],
        text=text,
    )


ROUTES = (Route(f"{PATH}/context", get=show),)
