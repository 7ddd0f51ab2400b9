"""The playground of an engine, which writes only into a scope of the caller's own."""

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal
from urllib.parse import quote, urlencode

from starlette.responses import Response

from app.kernel.errors import InvalidArgument, PermissionDenied, Reason
from app.kernel.permissions import Permission
from app.kernel.ranking import Ranking
from app.language.tokens import estimate_tokens
from app.surfaces import filters
from app.surfaces.api import ApiRefusal, Json
from app.surfaces.console.filterrow import SCOPES, locked_pairs
from app.surfaces.console.forms import ChangeForm, read_form
from app.surfaces.console.pages.memory import DiffPart, compare
from app.surfaces.console.pages.search import column
from app.surfaces.console.templating import last_part, pairs
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import BAD_REQUEST, ENGINE, Route, Visit

_NEW = "-"
"""The request id of a form that was not sent yet."""
_KEY = "playground"
"""The key of a playground's scope; its value is the caller's id."""
_USER = "user_id"
_SHOWN = 5
"""Hits of each ranking, and memories of a prompt."""
_COMPARED = 100
"""Hits among which the ranking by words alone is made, since the API has none."""
_IS_JSON = re.compile(r"\s*(\[\s*)?\{")
_TURN = re.compile(r"(?i)\s*(user|human|model|assistant|agent|ai)\s*:\s*")
_ROLES = {"human": "user", "assistant": "model", "agent": "model", "ai": "model"}
"""The names of roles that the API calls otherwise."""
_OF_TALK = re.compile(r"directContentsSource(?:\.events(?:\[(\d+)\])?)?.*", re.DOTALL)


class TalkForm(ChangeForm):
    """A talk, a question, and what to do with them.

    Attributes:
        scope: the pairs of another scope that a preview compares the talk with, one a line.
        estimated: the estimate of tokens that the form showed; empty: no model writes.
    """

    do: Literal["", "preview", "keep", "ask"] = ""
    talk: str = ""
    question: str = ""
    scope: str = ""
    estimated: str = ""

    @property
    def tokens(self) -> int:
        """The estimated tokens of the talk."""
        return estimate_tokens(self.talk)

    @property
    def id_of_work(self) -> str:
        """The request id of the generation; another talk is another request."""
        content = f"{self.talk}\n\n{self.scope}".encode()
        return self.id_for(f"{self.do}-{hashlib.blake2s(content, digest_size=8).hexdigest()}")


def _events(talk: str) -> list[Any]:
    """Return the turns of a talk; a line without a role continues the turn above it."""
    if _IS_JSON.match(talk):
        return _events_of_json(talk)
    turns: list[tuple[str, list[str]]] = []
    for line in talk.splitlines():
        match = _TURN.match(line)
        if match or not turns:
            turns.append((match[1].lower() if match else "user", []))
        turns[-1][1].append(line[match.end() :] if match else line)
    said = ((role, "\n".join(lines).strip()) for role, lines in turns)
    return [_event(role, text) for role, text in said if text]


def _events_of_json(talk: str) -> list[Any]:
    """Return the events of a request, or the messages of a chat completion."""
    try:
        found = json.loads(talk)
    except (ValueError, RecursionError) as error:
        message = TEXTS.play_not_json.format(fault=error)
        raise InvalidArgument(message, Reason.FIELD_INVALID) from None
    for name in ("directContentsSource", "events", "messages"):
        found = found.get(name, found) if isinstance(found, dict) else found
    return [
        _event(str(one.get("role", "user")), one["content"])
        if isinstance(one, dict) and isinstance(one.get("content"), str)
        else one
        for one in (found if isinstance(found, list) else [found])
    ]


def _event(role: str, text: str) -> dict[str, Any]:
    return {"content": {"role": _ROLES.get(role, role), "parts": [{"text": text}]}}


def _scope(visit: Visit) -> dict[str, str]:
    """Return the scope of the caller's playground, which meets the conditions of a bound key."""
    conditions = visit.session.caller.reach.conditions
    bound = {key: min(values) for key, values in conditions.items()}
    return {_KEY: visit.session.caller.key_id, **bound}


def _body(visit: Visit, form: TalkForm) -> dict[str, Any]:
    """Return the request of a generation; the locked part of another scope wins."""
    body = {"scope": _scope(visit), "directContentsSource": {"events": _events(form.talk)}}
    if form.do == "keep":
        return body
    written = [*filter(str.strip, form.scope.splitlines())]
    if written:
        locked = locked_pairs(visit.session.caller.reach.conditions)
        split = map(filters.split_pair, (*written, *locked))
        body["scope"] = {key: value or "" for key, value in split}
    return {**body, "validateOnly": True}


async def show(visit: Visit) -> Response:
    """Show an example to try, or an operation that was asked for."""
    if not visit.may(Permission.MEMORIES_GENERATE):
        raise PermissionDenied(TEXTS.no_permission_hint, Reason.PERMISSION_MISSING)
    query = visit.request.query_params
    examples = {one["name"]: one for one in TEXTS.play_examples}
    example = examples.get(query.get("example", "")) or TEXTS.play_examples[0]
    fresh = TalkForm(request_id=_NEW, talk=example["talk"], question=example["question"])
    kept = visit.filled(TalkForm)
    form = kept.model_copy(update={"do": ""}) if kept else fresh
    id_ = query.get("operation", "")
    operation = await _waited(visit, id_) if id_ else None
    return await _page(visit, form, operation=operation, is_alone=bool(id_))


async def run(visit: Visit) -> Response:
    """Do what the form asks for; a refused one keeps what was typed."""
    form = await read_form(visit.request, TalkForm, visit.session)
    # A model gets no talk whose tokens the user has not seen.
    if form.do in ("", "ask") or form.estimated not in ("", str(form.tokens)):
        return await _page(visit, form)
    path = f"{visit.engine_path}/memories:generate"
    try:
        operation = await visit.api.ask(path, _body(visit, form), request_id=form.id_of_work)
    except InvalidArgument as error:
        return await _page(visit, form, BAD_REQUEST, faults={TEXTS.play_talk: error.message})
    except ApiRefusal as refused:
        if refused.is_forbidden:
            raise
        found = refused.fields or {"": refused.message}
        faults = {_label(path): fault for path, fault in found.items()}
        return await _page(visit, form, refused.status, faults=faults)
    with suppress(ApiRefusal):
        operation = await _waited(visit, last_part(operation["name"]))
    return await _page(visit, form, operation=operation)


async def _waited(visit: Visit, operation: str) -> Json:
    """Wait a few seconds for an operation; the page asks again for one that takes longer."""
    path = f"{visit.engine_path}/operations/{quote(operation, safe='')}:wait"
    return await visit.api.ask(path, {}, [("timeout", "3s")])


def _label(path: str) -> str:
    """Return the form's name of a field of the API, which counts turns from 0."""
    match = _OF_TALK.fullmatch(path)
    if match is None:
        return path
    return TEXTS.play_turn.format(number=int(match[1]) + 1) if match[1] else str(TEXTS.play_talk)


async def _page(
    visit: Visit,
    form: TalkForm,
    status: int = 200,
    *,
    operation: Json | None = None,
    faults: Mapping[str, str] | None = None,
    is_alone: bool = False,
) -> Response:
    """Render the page; the operation of another page stands `is_alone`, without a talk."""
    scope = _scope(visit)
    chosen = filters.all_of(filters.pair(SCOPES.field, pair) for pair in pairs(scope))
    query = [("filter", chosen), ("pageSize", "10")]
    used = await visit.visible(Permission.USAGE_GET, f"{visit.engine_path}:usage")
    kept = Json()
    # While a talk is typed, only its estimate is shown.
    if form.do or visit.request.method == "GET":
        path = f"{visit.engine_path}/memories"
        kept = await visit.visible(Permission.MEMORIES_LIST, path, query)
    columns: list[Json] = []
    context: Json | None = None
    has_question = bool(kept["memories"]) and visit.may(Permission.MEMORIES_RETRIEVE)
    if has_question and form.do and not faults and form.question.strip():
        try:
            columns, context = await asyncio.gather(
                _columns(visit, scope, form.question), _context(visit, scope, form)
            )
        except ApiRefusal as refused:
            if refused.is_forbidden:
                raise
            status, faults = refused.status, {TEXTS.question: refused.message}
    # A form that has done its work begins another one; else it is the same, sent once more.
    begins = form.request_id == _NEW or bool(operation and operation["done"])
    planned = ((operation or Json())["response"] or Json())["plannedChanges"] or []
    return visit.render(
        "playground.html",
        status,
        form=form,
        is_alone=is_alone,
        operation=operation,
        changes=[Json(one, parts=await asyncio.to_thread(_difference, one)) for one in planned],
        faults=faults or {},
        writer=(used["generation"] or Json())["model"],
        examples=TEXTS.play_examples,
        scope=scope,
        kept=kept,
        of_scope=urlencode([(SCOPES.name, pair) for pair in pairs(scope)]),
        has_question=has_question,
        columns=columns,
        context=context,
        **({} if begins else {"request_id": form.request_id}),
    )


def _difference(change: Json) -> list[DiffPart] | None:
    """Return the parts of a changed fact; None: it is new or deleted, or too long."""
    facts = [(change[side] or Json())["fact"] for side in ("before", "after")]
    return compare(*facts) if all(facts) else None


async def _columns(visit: Visit, scope: Mapping[str, str], question: str) -> list[Json]:
    """Return the best hits by both rankings of the API, and by the words that hits share."""
    search = {"searchQuery": question, "topK": _COMPARED}
    body = {"scope": scope, "similaritySearchParams": search, "explain": True}
    hybrid, vector = await asyncio.gather(
        *(column(visit, {**body, "ranking": ranking}) for ranking in Ranking)
    )
    by_words = [hit for hit in hybrid["hits"] if hit["why"]["lexicalScore"]]
    by_words.sort(key=lambda hit: -hit["why"]["lexicalScore"])
    words = Json(ranking="words", hits=by_words)
    return [Json(one, hits=one["hits"][:_SHOWN]) for one in (hybrid, vector, words)]


async def _context(visit: Visit, scope: Mapping[str, str], form: TalkForm) -> Json | None:
    """Return the prompt of a new conversation; None: the user may have none.

    Contexts belong to sessions. An empty one of the caller's own serves, which ends after a day.
    """
    caller = visit.session.caller
    if not caller.may(Permission.EVENTS_LIST) or caller.reach.conditions.keys() - {_USER}:
        return None
    digest = hashlib.blake2s(caller.identity.encode(), digest_size=16).hexdigest()
    sessions, id_ = f"{visit.engine_path}/sessions", f"{_KEY}-{digest}"
    body = {
        "preview": True,
        "systemPrompt": TEXTS.play_system,
        "pendingMessage": form.question,
        "policy": {"strategy": "inclusive", "onOverflow": "omit"},
        "includeMemories": {"scope": scope, "topK": _SHOWN},
    }
    user = scope.get(_USER, f"{_KEY}={caller.key_id}")
    made = {"userId": user, "displayName": TEXTS.play, "ttl": "86400s"}
    # A preview writes nothing, not even an empty session.
    may_make = form.do != "preview" and caller.may(Permission.SESSIONS_CREATE)
    with suppress(ApiRefusal):
        if may_make and not await visit.answered(f"{sessions}/{id_}"):
            await visit.api.ask(sessions, made, [("sessionId", id_)])
        return await visit.api.ask(f"{sessions}/{id_}:context", body)
    return None


ROUTES = (Route(f"{ENGINE}/try", get=show, post=run, kept=TalkForm),)
