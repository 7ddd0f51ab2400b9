"""Screen 15: the API keys, and the audit logs of the service and of an engine.

A key's secret is shown once, in the response to its form.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from starlette.responses import Response

from app.kernel.permissions import Permission
from app.surfaces import filters
from app.surfaces.api import ApiFault, ApiRefusal, Json
from app.surfaces.console.filterrow import (
    MADE_BETWEEN,
    FilterChips,
    FilterField,
    FilterRow,
    contains,
    equals,
)
from app.surfaces.console.forms import ChangeForm, number_of, read_form
from app.surfaces.console.sessions import Sessions
from app.surfaces.console.templating import last_part, short_id
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import BAD_REQUEST, CONFLICT, ENGINE, Route, Visit

API = "/v1/keys"
_HERE = "/console/keys"
_ONE = f"{_HERE}/{{key}}"
_FAILURE = 500
_HOUR_SECONDS, _DAY_SECONDS = 3_600, 86_400
_DAYS = ("30", "90", "365")
"""Lives of a new key that the form offers; else it ends at a given time, or never."""
_AT = "at"
_MOST_ENGINES = 50
_PAIRS = 3
"""Fields for pairs of a scope that the form has at least."""
_FIELD = re.compile("[A-Za-z]+")
_REACH = (FilterChips("bound", TEXTS.filter_bound, "scope_conditions"),)
_LABELS = {
    "displayName": TEXTS.display_name,
    "roles": TEXTS.key_role,
    "projects": TEXTS.projects,
    "engines": TEXTS.engines,
    "scopeConditions": TEXTS.scope,
    "expireTime": TEXTS.key_ends,
    "ttl": TEXTS.key_ends,
}
"""The labels of the form by the API's fields."""


class KeyForm(ChangeForm):
    """A new key."""

    display_name: str = ""
    role: str = ""
    projects: str = ""
    engines: tuple[str, ...] = ()
    more_engines: str = ""
    key: tuple[str, ...] = ()
    value: tuple[str, ...] = ()
    ends: str = "90"
    expire_time: str = ""

    @property
    def scope(self) -> list[tuple[str, str]]:
        """The keys and values of the scope, without empty pairs."""
        pairs = zip(map(str.strip, self.key), map(str.strip, self.value), strict=False)
        return [pair for pair in pairs if any(pair)]

    def faults(self) -> dict[str, str]:
        """Return what the form lacks, by field, where the API's words would name no field of it."""
        found = {}
        if not self.role:
            found["roles"] = TEXTS.key_role_missing
        if self.ends == _AT and not self.expire_time.strip():
            found["expireTime"] = TEXTS.key_end_missing
        for key, value in self.scope:
            if not value:
                found["scopeConditions"] = TEXTS.key_value_missing.format(key=key)
            elif not key:
                found["scopeConditions"] = TEXTS.key_key_missing.format(value=value)
        return found

    def body(self) -> dict[str, Any]:
        """Return the request without empty fields."""
        conditions: dict[str, list[str]] = {}
        for key, value in self.scope:
            conditions.setdefault(key, []).append(value)
        reach = {
            "roles": [self.role],
            "projects": self.projects.split(),
            "engines": [*self.engines, *self.more_engines.split()],
            "scopeConditions": conditions,
            "expireTime": filters.utc(self.expire_time.strip()) if self.ends == _AT else "",
            "ttl": f"{int(self.ends) * _DAY_SECONDS}s" if self.ends in _DAYS else "",
        }
        named = {name: value for name, value in reach.items() if value}
        return {"displayName": self.display_name, **named}


class RotationForm(ChangeForm):
    """A new secret, and the hours for which the former ones still work."""

    hours: str = ""

    def body(self) -> dict[str, Any]:
        """Return the request; without hours, the API decides."""
        hours = number_of(self.hours.strip())
        if isinstance(hours, int):
            return {"gracePeriod": f"{hours * _HOUR_SECONDS}s"}
        return {"gracePeriod": hours} if hours else {}


async def show(visit: Visit) -> Response:
    """Show the keys, newest first."""
    row = FilterRow.of(visit.request.query_params, (), _REACH)
    listed = await visit.listed(API, row)
    return visit.render_list(
        "keys.html",
        row,
        listed,
        keys=[row_of(key, visit.now) for key in listed.rows],
    )


def row_of(key: Json, now: datetime) -> Json:
    """Return the data of a key that pages show."""
    expiry = key["expireTime"]
    if key["revokeTime"]:
        state = TEXTS.key_revoked
    elif expiry and datetime.fromisoformat(expiry) <= now:
        state = TEXTS.key_expired
    else:
        state = TEXTS.key_works
    return Json(
        key,
        id=last_part(key["name"]),
        state=state,
        is_live=state == TEXTS.key_works,
        reach=_reach(key),
    )


def _reach(key: Json) -> list[str]:
    parts = [
        words.format(names=", ".join(map(short_id, key[name])))
        for name, words in (("projects", TEXTS.key_projects), ("engines", TEXTS.key_engines))
        if key[name]
    ]
    for name, values in sorted((key["scopeConditions"] or {}).items()):
        allowed = TEXTS.key_or.join(values)
        parts.append(TEXTS.key_condition.format(key=name, values=allowed))
    return parts or [TEXTS.key_all]


async def show_form(visit: Visit) -> Response:
    """Show the form for a new key."""
    return await _form(visit, visit.filled(KeyForm) or KeyForm(request_id="-"), {}, 200)


async def _form(visit: Visit, form: KeyForm, faults: Mapping[str, str], status: int) -> Response:
    most = [("pageSize", str(_MOST_ENGINES))]
    listed = await visit.part(Permission.ENGINES_LIST, "/v1beta1/reasoningEngines", most)
    answer = listed or Json()
    engines = [
        (last_part(engine["name"]), engine["displayName"])
        for engine in answer["reasoningEngines"] or []
    ]
    return visit.render(
        "key_new.html",
        status,
        form=form,
        engines=engines,
        has_more=bool(answer["nextPageToken"]) or not engines,
        pairs=[*form.scope, *[("", "")] * max(1, _PAIRS - len(form.scope))],
        days=_DAYS,
        faults=_in_words(faults),
        here=_HERE,
    )


def _in_words(faults: Mapping[str, str]) -> dict[str, str]:
    """Return faults by the labels of the form; a field's faults make one sentence."""
    said: dict[str, list[str]] = {}
    for path, fault in faults.items():
        name = _FIELD.match(path)
        label = _LABELS.get(name[0], path) if name else ""
        said.setdefault(label, []).append(fault)
    return {label: " ".join(found) for label, found in said.items()}


async def create(visit: Visit) -> Response:
    """Create a key and show its secret."""
    form = await read_form(visit.request, KeyForm, visit.session)
    if faults := form.faults():
        return await _form(visit, form, faults, BAD_REQUEST)
    try:
        return await _with_secret(visit, API, form.request_id, form.body())
    except ApiFault as refused:
        return await _form(visit, form, refused.fields or {"": refused.message}, BAD_REQUEST)


async def _with_secret(visit: Visit, path: str, form_id: str, body: Mapping[str, Any]) -> Response:
    """Create a secret and show it; the same form cannot create a second one."""
    sessions, value = Sessions.of(visit.request), visit.session.value
    if not await sessions.spend_form(value, form_id):
        return visit.render("key_secret.html", CONFLICT, key=None, here=_HERE)
    try:
        key = await visit.api.send("POST", path, body)
    except ApiRefusal as refused:
        if refused.status < _FAILURE:
            # After a server error the key may exist, so only a refusal releases the form.
            await sessions.give_form_back(value, form_id)
        raise
    return visit.render("key_secret.html", key=key, here=_HERE)


def _path_of(visit: Visit) -> str:
    return f"{API}/{visit.quoted('key')}"


async def ask(visit: Visit, refused: ApiRefusal | None = None, hours: str = "") -> Response:
    """Ask for confirmation before a key gets a new secret, or is revoked."""
    key = await visit.api.get(_path_of(visit))
    return visit.render(
        f"key_{last_part(visit.path)}.html",
        BAD_REQUEST if refused else 200,
        key=row_of(key, visit.now),
        faults={} if refused is None else refused.fields or {"": refused.message},
        hours=hours,
        here=_HERE,
    )


async def rotate(visit: Visit) -> Response:
    """Give a key a new secret and show it."""
    form = await read_form(visit.request, RotationForm, visit.session)
    try:
        return await _with_secret(visit, f"{_path_of(visit)}:rotate", form.request_id, form.body())
    except ApiFault as refused:
        return await ask(visit, refused, form.hours)


async def revoke(visit: Visit) -> Response:
    """Revoke a key; a repetition has no effect."""
    await read_form(visit.request, ChangeForm, visit.session)
    try:
        await visit.api.send("POST", f"{_path_of(visit)}:revoke", {})
    except ApiFault as refused:
        return await ask(visit, refused)
    return visit.done(_HERE, "revoked", key=visit.id_of("key"))


_OF_ENGINE: Sequence[FilterField] = (
    FilterField("caller", TEXTS.caller, equals("caller")),
    FilterField("method", TEXTS.method, equals("method")),
    FilterField("result", TEXTS.result, equals("result")),
    FilterField("resource", TEXTS.resource, contains("resource")),
    *MADE_BETWEEN,
)
_OF_SERVICE: Sequence[FilterField] = (
    FilterField("engine", TEXTS.engine, equals("engine")),
    *_OF_ENGINE,
)


async def show_events(visit: Visit) -> Response:
    """Show a page of events, or the API's error next to the filter."""
    path, fields = "/v1/auditEvents", _OF_SERVICE
    if "engine" in visit.request.path_params:
        # The log of one engine needs no filter by engine.
        path, fields = f"{visit.engine_path}/auditEvents", _OF_ENGINE
    row = FilterRow.of(visit.request.query_params, fields)
    listed = await visit.listed(path, row)
    return visit.render_list("audit.html", row, listed)


ROUTES = (
    Route(_HERE, get=show),
    Route(f"{_HERE}/new", get=show_form, post=create, kept=KeyForm),
    Route(f"{_ONE}/rotate", get=ask, post=rotate),
    Route(f"{_ONE}/revoke", get=ask, post=revoke),
    *(Route(f"{above}/audit", get=show_events) for above in ("/console", ENGINE)),
)
