"""One request of a signed-in user: its path, its API calls and its page with the navigation."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

from cachetools import TTLCache
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import compile_path

from app.adapters.inprocess import InProcess
from app.adapters.logs import request_id
from app.adapters.resources import Resources
from app.kernel.errors import InvalidArgument
from app.kernel.permissions import Permission
from app.surfaces import filters
from app.surfaces.api import Api, ApiFault, ApiRefusal, Json, Query
from app.surfaces.console.carried import FORM, MOST_CHARS, NOTE, Carried, carry, read
from app.surfaces.console.exports import KINDS, download, pages_of
from app.surfaces.console.filterrow import SCOPES, SIZES, FilterRow
from app.surfaces.console.forms import ConsoleForm, filled, new_request_id
from app.surfaces.console.navigation import places_of
from app.surfaces.console.sessions import (
    SURFACE,
    OpenSession,
    Sessions,
    drop_cookie,
    is_exposed,
    is_secure,
)
from app.surfaces.console.templating import environment, last_part, pairs
from app.surfaces.console.texts import TEXTS
from app.web.headers import address_of

ROWS = 50
"""Rows on a page of a list."""
_MOST_MEANT = 3
"""Bare values of a filter that are looked up."""
BAD_REQUEST = 400
NOT_FOUND = 404
CONFLICT = 409
TOKEN_PARAMETER = "page"  # noqa: S105 - the name of a parameter
IN_PLACE_OF_ALL = {"HX-Retarget": "main", "HX-Reselect": "main", "HX-Reswap": "outerHTML"}
"""Headers that make htmx replace the whole page, where the answer lacks the requested part."""
COLLECTIONS = {"memory": "memories", "operation": "operations", "session": "sessions"}
"""The collections of the resources with a page each, by the names of their ids in paths."""
_MOST_NAMES = 10_000
_NEWER = "newer"
"""The parameter for the tokens of the pages between the first and this one, joined by points."""
_MOST_NEWER = 30
_EXPORT = "export"
ENGINE = "/console/e/{engine}"
_F = TypeVar("_F", bound=ConsoleForm)


class KeyNames(TTLCache[str, str]):
    """The display names of keys seen in the last minute, by their ids; empty: no key has the id."""


class EngineTitles(TTLCache[tuple[str, str], str]):
    """The titles of engines seen in the last minute, by the form token of a session and the id."""


class Listed(NamedTuple):
    """A page of a list, with its path and query in the API.

    Attributes:
        fault: the API's error message about the filter; empty: no error.
        rows: the rows of the page.
        meant: the pairs that bare values of the scope's filter may mean if nothing matches, each
            with the query that has it instead.
        key_names: the names of the keys in its rows, as far as they are known.
    """

    answer: Json
    fault: str
    rows: Sequence[Json] = ()
    meant: Sequence[tuple[str, str]] = ()
    key_names: Mapping[str, str] = MappingProxyType({})
    path: str = ""
    query: Query = ()


@dataclass(frozen=True)
class Visit:
    """A request with its session."""

    request: Request
    session: OpenSession
    api: Api

    @classmethod
    def of(cls, request: Request, session: OpenSession) -> "Visit":
        """Return the visit of a request."""
        calls = InProcess(
            application=request.app,
            caller=session.caller,
            surface=SURFACE,
            host=request.headers.get("host", ""),
            address=address_of(request.scope),
            request_id=request_id() or "",
        )
        scheme = "https" if is_secure(request) else "http"
        return cls(request, session, Api(calls, f"{scheme}://{calls.host}"))

    @property
    def resources(self) -> Resources:
        """The resources of the process."""
        resources: Resources = self.request.app.state.resources
        return resources

    @property
    def now(self) -> datetime:
        """The present time."""
        return self.resources.clock.now()

    @property
    def path(self) -> str:
        """The path of the page."""
        return self.request.url.path.rstrip("/")

    def id_of(self, kind: str) -> str:
        """Return the id of the page's resource of a kind, such as `memory`, from the path."""
        return str(self.request.path_params[kind])

    @property
    def own_path(self) -> str:
        """The path in the API of the memory, operation or session of the page."""
        return self.engine_path + self._own

    @property
    def own_url(self) -> str:
        """The path in the console of the memory, operation or session of the page."""
        return self.engine_url + self._own

    @property
    def _own(self) -> str:
        kinds = (kind for kind in COLLECTIONS if kind in self.request.path_params)
        return "".join(f"/{COLLECTIONS[kind]}/{self.quoted(kind)}" for kind in kinds)

    def url_of_operation(self, operation: Json) -> str:
        """Return the path in the console of an operation."""
        return f"{self.engine_url}/operations/{quote(last_part(operation['name']), safe='')}"

    def quoted(self, name: str) -> str:
        """Return a parameter of the path, to be a part of another path."""
        return quote(self.id_of(name), safe="")

    @property
    def engine(self) -> str:
        """The engine's id from the path."""
        return self.id_of("engine")

    @property
    def engine_path(self) -> str:
        """The path of the engine in the API."""
        return f"/v1beta1/reasoningEngines/{self.quoted('engine')}"

    @property
    def engine_url(self) -> str:
        """The path of the engine in the console."""
        return f"/console/e/{self.quoted('engine')}"

    async def engine_title(self) -> str:
        """Return the display name of the page's engine; empty: it has none, or is unknown.

        Each page shows it, so it is kept for a minute, unless this session may have changed it.
        """
        if "engine" not in self.request.path_params or not self.may(Permission.ENGINES_GET):
            return ""
        titles: EngineTitles = self.resources.kept.setdefault(
            EngineTitles, EngineTitles(_MOST_NAMES, ttl=60)
        )
        key, is_change = (self.session.form_token, self.engine), self.request.method == "POST"
        known = titles.pop(key, None) if is_change else titles.get(key)
        if known is not None:
            return known
        engine = await self._aside.part(Permission.ENGINES_GET, self.engine_path)
        title: str = (engine and engine["displayName"]) or ""
        if engine and not is_change:
            titles[key] = title
        return title

    @property
    def _aside(self) -> "Visit":
        """This visit with calls that the page does not show."""
        return replace(self, api=replace(self.api, made=[]))

    async def key_names(self, ids: Iterable[object]) -> Mapping[str, str]:
        """Return the display names of keys by their ids, if the user may see keys.

        An erasure may replace a name by an alias, so names are kept for a minute only.
        """
        known = self.resources.kept.setdefault(KeyNames, KeyNames(_MOST_NAMES, ttl=60))
        # Callers with tokens of another issuer have no key; a colon marks their ids.
        keys = {id_ for id_ in ids if isinstance(id_, str) and ":" not in id_}
        unknown = sorted(keys - known.keys())
        if unknown and self.may(Permission.KEYS_MANAGE):
            chosen = " OR ".join(f"key_id={filters.quoted(id_)}" for id_ in unknown)
            query = [("filter", chosen), ("pageSize", str(len(unknown)))]
            if found := await self._aside.answered("/v1/keys", query):
                known.update(dict.fromkeys(unknown, ""))
                known.update({last_part(key["name"]): key["displayName"] for key in found["keys"]})
        return known if self.may(Permission.KEYS_MANAGE) else {}

    def may(self, permission: Permission) -> bool:
        """Return True if the user has a permission."""
        return self.session.caller.may(permission)

    def page_query(self, rows: int | str = ROWS, parameter: str = TOKEN_PARAMETER) -> Query:
        """Return the paging parameters of a list; the page token comes from a URL parameter."""
        token = self.request.query_params.get(parameter, "")
        size = [("pageSize", str(rows))]
        return [*size, ("pageToken", token)] if token else size

    async def answered(self, path: str, query: Query = ()) -> Json | None:
        """Return a response of the API; None if it refuses, since the page has other parts."""
        try:
            return await self.api.get(path, query)
        except ApiRefusal:
            return None

    async def part(self, permission: Permission, path: str, query: Query = ()) -> Json | None:
        """Return an answer of the API; None if it refuses, or if the user lacks the permission."""
        return await self.answered(path, query) if self.may(permission) else None

    async def visible(self, permission: Permission, path: str, query: Query = ()) -> Json:
        """Return an answer of the API; empty if the user lacks the permission."""
        return await self.api.get(path, query) if self.may(permission) else Json()

    async def listed(
        self, path: str, row: FilterRow, *more: tuple[str, str], also: str = ""
    ) -> Listed:
        """Return a page of a list, filtered `also`, or the API's error message about the filter."""
        chosen = filters.all_of((also, row.text_of_api()))
        named = (("orderBy", row.order), ("filter", chosen))
        query = [*more, *((name, value) for name, value in named if value)]
        try:
            answer = await self.api.get(path, [*self.page_query(row.rows), *query])
        except ApiFault as refused:
            if not chosen:
                raise
            return Listed(Json(), refused.fields.get("filter", refused.message))
        rows: list[Json] = next((rows for rows in answer.values() if isinstance(rows, list)), [])
        names = await self.key_names(caller for row in rows for caller in callers_of(row))
        meant = () if rows else await self._meant(row)
        return Listed(answer, "", rows, meant, names, path, query)

    async def _meant(self, row: FilterRow) -> list[tuple[str, str]]:
        """Return the pairs that bare values of a scope's filter may mean, with their queries."""
        bare = [pair for pair in row.chips.get(SCOPES.name, ()) if "=" not in pair]
        if not self.may(Permission.ENGINES_GET):
            return []
        found = await asyncio.gather(*map(self._scopes_with, bare[:_MOST_MEANT]))
        return [
            (pair, row.instead(SCOPES.name, text, pair))
            for text, some in zip(bare, found, strict=False)
            for pair in some
        ]

    async def _scopes_with(self, text: str) -> list[str]:
        with suppress(ApiRefusal):
            path = f"{self.engine_path}/resources:find"
            found = (await self.api.ask(path, {"text": text}))["resources"]
            return [pair for one in found for pair in pairs(one["scope"] or {})]
        return []

    def render_list(
        self,
        template: str,
        row: FilterRow,
        listed: Listed,
        /,
        status: int | None = None,
        **values: object,
    ) -> Response:
        """Render a page of a list with its filter row; status 400 reports a filter error.

        With `export` in the URL, return what the filter finds as a file, or what is ticked of it.
        """
        kind, _, which = self.request.query_params.get(_EXPORT, "").partition("-")
        if kind in KINDS and self.request.method == "GET" and not listed.fault:
            return self._export(listed, kind, self.chosen() if which else frozenset())
        as_filtered = BAD_REQUEST if listed.fault else 200
        older, newer = self._beside(row, listed.answer["nextPageToken"])
        answer = self.render(
            template,
            as_filtered if status is None else status,
            filters=row,
            fault=listed.fault,
            rows=listed.rows,
            meant=listed.meant,
            key_names=listed.key_names,
            older=older,
            newer=newer,
            sizes=SIZES,
            spans=row.spans(self.now),
            **values,
        )
        # A filter that is applied while it is typed has an address without empty parameters.
        if self.request.headers.get("hx-target", "").endswith("results"):
            answer.headers["HX-Replace-Url"] = row.at(quote(self.path))
        return answer

    def chosen(self) -> frozenset[str]:
        """Return the ids of the memories that are ticked, of which there must be one."""
        ids = frozenset(self.request.query_params.getlist("memory"))
        if not ids:
            raise InvalidArgument.of_field("memory", TEXTS.choose_first)
        return ids

    def _export(self, listed: Listed, kind: str, only: AbstractSet[str]) -> Response:
        name = last_part(self.path)
        if only - {last_part(row["name"] or "") for row in listed.rows}:
            raise InvalidArgument.of_field("memory", TEXTS.export_moved)
        pages = pages_of(self.api, listed.path, listed.query, listed.answer, self._is_open)
        above = f"engine-{self.engine}-" if "engine" in self.request.path_params else ""
        return download(pages, name, f"{above}{name}-{self.now.date()}.{kind}", only)

    async def _is_open(self) -> bool:
        return await Sessions.of(self.request).find(self.request) is not None

    def _beside(self, row: FilterRow, token: str | None) -> tuple[str | None, str | None]:
        """Return the queries of the next page and of the one before, if there are any."""
        here = self.request.query_params.get(TOKEN_PARAMETER, "")
        before = list(filter(None, self.request.query_params.get(_NEWER, "").split(".")))
        after = ".".join([*before, here][-_MOST_NEWER:])
        older = row.query(**{TOKEN_PARAMETER: token, _NEWER: after}) if token else None
        of_newer = {TOKEN_PARAMETER: "".join(before[-1:]), _NEWER: ".".join(before[:-1])}
        return older, row.query(**of_newer) if here else None

    def first_page(self, parameter: str = TOKEN_PARAMETER) -> str:
        """Return the query of a list's first page, with its `?` and all other parameters."""
        kept = self._others(parameter)
        return f"?{urlencode(kept)}" if kept else ""

    def next_page(self, listed: Json, parameter: str = TOKEN_PARAMETER) -> str | None:
        """Return the query of a list's next page with all other parameters; None: there is none."""
        token = listed["nextPageToken"]
        return urlencode([*self._others(parameter), (parameter, token)]) if token else None

    def _others(self, parameter: str) -> list[tuple[str, str]]:
        given = self.request.query_params.multi_items()
        return [(name, value) for name, value in given if value and name not in (parameter, _NEWER)]

    def done(
        self, url: str, did: str, back: str = "", memories: Sequence[str] = (), **values: str
    ) -> Response:
        """Redirect to a page that says what was done, and what takes it back; see `Carried`."""
        note = Carried(at=url, did=did, values=values, back=back, memories=tuple(memories))
        answer, packed = redirect(url), note.packed()
        if len(packed) > MOST_CHARS:
            packed = note.model_copy(update={"back": "", "memories": ()}).packed()
        carry(self.request, answer, self.session.value, NOTE, packed)
        return answer

    def filled(self, form: type[_F]) -> _F | None:
        """Return the form of this page that was sent without a session; None: none was."""
        kept = read(self.request, self.session.value, FORM)
        return filled(kept, form) if kept else None

    def undo_of(self, operation: Json) -> str:
        """Return the path of the undo of a change; empty: the user may not undo it."""
        needed = (Permission.OPERATIONS_GET, Permission.OPERATIONS_UNDO)
        return f"{self.url_of_operation(operation)}/undo" if all(map(self.may, needed)) else ""

    def render(self, template: str, status: int = 200, /, **values: object) -> Response:
        """Render a page, with what was carried to it."""
        found = {kind: read(self.request, self.session.value, kind) for kind in (NOTE, FORM)}
        engine_url = self.engine_url if "engine" in self.request.path_params else None
        sees_users = engine_url and self.may(Permission.MEMORIES_LIST)
        answer = rendered(
            self.request,
            template,
            status,
            {
                "session": self.session,
                "engine_url": engine_url,
                "here": self.own_url if self._own else self.path,
                "curls": self.api.made,
                "now": self.now,
                "may": lambda name: self.may(Permission(name)),
                "users_url": f"{engine_url}/users" if sees_users else None,
                "is_first": TOKEN_PARAMETER not in self.request.query_params,
                "first_page": self.first_page(),
                "request_id": new_request_id(),
                "carried": found,
                **values,
            },
        )
        for kind in (kind for kind in found if found[kind]):
            drop_cookie(self.request, answer, kind)
        return answer


def callers_of(row: Json) -> Sequence[object]:
    """Return the ids of the keys that a row of any list names."""
    metadata: Json = row["metadata"] or Json()
    return (row["caller"], row["deleteCaller"], row["creator"], metadata["caller"])


def rendered(
    request: Request, template: str, status: int, values: Mapping[str, Any]
) -> HTMLResponse:
    """Render a template with the values that all pages need."""
    session: OpenSession | None = values.get("session")
    frame: dict[str, Any] = {}
    if session is not None:
        engine = request.scope.get("path_params", {}).get("engine")
        title = getattr(request.state, "engine_title", "")
        path = request.url.path.rstrip("/")
        frame |= {"engine": engine, "engine_title": title}
        frame["places"] = places_of(session.caller, path, engine, title)
    page = environment().get_template(template)
    shown = page.render({**frame, "exposed": is_exposed(request), **values})
    return HTMLResponse(shown, status)


def redirect(url: str) -> Response:
    """Redirect the browser to another page with a GET request."""
    return RedirectResponse(url, status_code=303)


Page = Callable[[Visit], Awaitable[Response]]


class Route:
    """A path of the console, and the form that is `kept` if it is sent without a session."""

    def __init__(
        self,
        path: str,
        get: Page | None = None,
        post: Page | None = None,
        kept: type[ConsoleForm] | None = None,
    ) -> None:
        self.path = path
        self.regex = compile_path(path)[0]
        self.kept = kept
        pages = {"GET": get, "HEAD": get, "POST": post}
        self.pages = {method: page for method, page in pages.items() if page is not None}
