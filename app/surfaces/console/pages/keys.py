"""Screen 15: the API keys, and the audit logs of the service and of an engine.

A key's secret is shown once, in the response to its form.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from app.kernel.permissions import Role
from app.surfaces import filters
from app.surfaces.api import ApiRefusal, Json
from app.surfaces.console.filterrow import FilterField, FilterRow, contains, equals, made_between
from app.surfaces.console.forms import ChangeForm, number_of, read_form
from app.surfaces.console.sessions import Sessions
from app.surfaces.console.templating import last_part
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import BAD_REQUEST, CONFLICT, ENGINE, Route, Visit, redirect

API = "/v1/keys"
_HERE = "/console/keys"
_ONE = f"{_HERE}/{{key}}"
_FAILURE = 500
_HOUR_SECONDS = 3_600


class KeyForm(ChangeForm):
    """A new key."""

    display_name: str = ""
    roles: tuple[str, ...] = ()
    projects: str = ""
    engines: str = ""
    conditions: str = ""
    expire_time: str = ""

    def body(self) -> dict[str, Any]:
        """Return the request without empty fields."""
        conditions: dict[str, list[str]] = {}
        for line in filter(str.strip, self.conditions.splitlines()):
            key, value = filters.split_pair(line)
            conditions.setdefault(key, []).append(value or "")
        reach = {
            "roles": list(self.roles),
            "projects": self.projects.split(),
            "engines": self.engines.split(),
            "scopeConditions": conditions,
            "expireTime": filters.utc(self.expire_time.strip()),
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
    answer = await visit.api.get(API, visit.page_query())
    return visit.render(
        "keys.html",
        keys=[row_of(key, visit.now) for key in answer["keys"] or []],
        next_page=answer["nextPageToken"],
        here=_HERE,
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
    """Describe the resources that a key may access."""
    parts = [
        words.format(names=", ".join(key[name]))
        for name, words in (("projects", TEXTS.key_projects), ("engines", TEXTS.key_engines))
        if key[name]
    ]
    for name, values in sorted((key["scopeConditions"] or {}).items()):
        allowed = TEXTS.key_or.join(values)
        parts.append(TEXTS.key_condition.format(key=name, values=allowed))
    return parts or [TEXTS.key_all]


async def show_form(visit: Visit) -> Response:
    """Show the form for a new key."""
    return _form(visit, KeyForm(request_id="-"), {}, 200)


def _form(visit: Visit, form: KeyForm, faults: Mapping[str, str], status: int) -> Response:
    return visit.render(
        "key_new.html", status, form=form, roles=list(Role), faults=faults, here=_HERE
    )


async def create(visit: Visit) -> Response:
    """Create a key and show its secret."""
    form = await read_form(visit.request, KeyForm, visit.session)
    try:
        return await _with_secret(visit, API, form.request_id, form.body())
    except ApiRefusal as refused:
        if refused.status != BAD_REQUEST:
            raise
        return _form(visit, form, refused.fields or {"": refused.message}, BAD_REQUEST)


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
    return f"{API}/{quote(str(visit.request.path_params['key']), safe='')}"


async def show_rotation(visit: Visit) -> Response:
    """Ask for confirmation before a key gets a new secret."""
    return await _ask(visit, "key_rotate.html")


async def show_revocation(visit: Visit) -> Response:
    """Ask for confirmation before a key is revoked."""
    return await _ask(visit, "key_revoke.html")


async def _ask(
    visit: Visit, template: str, refused: ApiRefusal | None = None, hours: str = ""
) -> Response:
    key = await visit.api.get(_path_of(visit))
    return visit.render(
        template,
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
    except ApiRefusal as refused:
        if refused.status != BAD_REQUEST:
            raise
        return await _ask(visit, "key_rotate.html", refused, form.hours)


async def revoke(visit: Visit) -> Response:
    """Revoke a key; a repetition has no effect."""
    await read_form(visit.request, ChangeForm, visit.session)
    try:
        await visit.api.send("POST", f"{_path_of(visit)}:revoke", {})
    except ApiRefusal as refused:
        if refused.status != BAD_REQUEST:
            raise
        return await _ask(visit, "key_revoke.html", refused)
    return redirect(_HERE)


_OF_ENGINE = (
    FilterField("caller", TEXTS.caller, equals("caller")),
    FilterField("method", TEXTS.method, equals("method")),
    FilterField("result", TEXTS.result, equals("result")),
    FilterField("resource", TEXTS.resource, contains("resource")),
    *made_between(),
)
_OF_SERVICE = (FilterField("engine", TEXTS.engine, equals("engine")), *_OF_ENGINE)


def _places(visit: Visit) -> tuple[str, str]:
    if "engine" in visit.request.path_params:
        return f"{visit.engine_path}/auditEvents", f"{visit.engine_url}/audit"
    return "/v1/auditEvents", "/console/audit"


def _filterrow_of(visit: Visit) -> FilterRow:
    # The log of one engine needs no filter by engine.
    is_of_engine = "engine" in visit.request.path_params
    return FilterRow.of(visit.request.query_params, _OF_ENGINE if is_of_engine else _OF_SERVICE)


async def show_events(visit: Visit) -> Response:
    """Show a page of events, or the API's error next to the filter."""
    path, here = _places(visit)
    row = _filterrow_of(visit)
    listed = await visit.listed(path, row)
    return visit.render_list(
        "audit.html",
        row,
        listed,
        events=listed.answer["auditEvents"] or [],
        here=here,
    )


async def export(visit: Visit) -> Response:
    """Send all events that match the filter as a file."""
    path, _ = _places(visit)
    return await visit.download(path, _filterrow_of(visit).text_of_api(), "audit.ndjson")


ROUTES = (
    Route(_HERE, get=show),
    Route(f"{_HERE}/new", get=show_form, post=create),
    Route(f"{_ONE}/rotate", get=show_rotation, post=rotate),
    Route(f"{_ONE}/revoke", get=show_revocation, post=revoke),
    *(
        Route(f"{above}/audit{below}", get=page)
        for above in ("/console", ENGINE)
        for below, page in (("", show_events), ("/export", export))
    ),
)
