"""One request of a signed-in user: its path, its API calls and its page with the navigation."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import compile_path

from app.adapters.inprocess import InProcess
from app.adapters.logs import request_id
from app.adapters.resources import Resources
from app.kernel.permissions import Permission
from app.surfaces import filters
from app.surfaces.api import Api, ApiRefusal, Json, Query
from app.surfaces.console.carried import FORM, NOTE, Carried, carry, read
from app.surfaces.console.filterrow import SCOPES, FilterRow
from app.surfaces.console.forms import ConsoleForm, filled, new_request_id
from app.surfaces.console.navigation import places_of
from app.surfaces.console.sessions import (
    SURFACE,
    OpenSession,
    drop_cookie,
    is_exposed,
    is_secure,
)
from app.surfaces.console.templating import environment, last_part, pairs
from app.web.headers import address_of

ROWS = 50
"""Rows on a page of a list."""
_MOST_MEANT = 3
"""Bare values of a filter that are looked up."""
BAD_REQUEST = 400
CONFLICT = 409
TOKEN_PARAMETER = "page"  # noqa: S105 - the name of a parameter
ENGINE = "/console/e/{engine}"
_F = TypeVar("_F", bound=ConsoleForm)


class Listed(NamedTuple):
    """A page of a list.

    Attributes:
        fault: the API's error message about the filter; empty: no error.
        meant: the pairs that bare values of the scope's filter may mean if nothing matches, each
            with the query that has it instead.
    """

    answer: Json
    fault: str
    meant: Sequence[tuple[str, str]] = ()


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
    def engine(self) -> str:
        """The engine's id from the path."""
        return str(self.request.path_params["engine"])

    @property
    def engine_path(self) -> str:
        """The path of the engine in the API."""
        return f"/v1beta1/reasoningEngines/{quote(self.engine, safe='')}"

    @property
    def engine_url(self) -> str:
        """The path of the engine in the console."""
        return f"/console/e/{quote(self.engine, safe='')}"

    @property
    def _users_url(self) -> str | None:
        """The path of the pages of scopes; None: the user may not see them."""
        has_engine = "engine" in self.request.path_params
        return (
            f"{self.engine_url}/users"
            if has_engine and self.may(Permission.MEMORIES_LIST)
            else None
        )

    def may(self, permission: Permission) -> bool:
        """Return True if the user has a permission."""
        return self.session.caller.may(permission)

    def page_query(self, rows: int = ROWS, parameter: str = TOKEN_PARAMETER) -> Query:
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

    async def visible(self, permission: Permission, path: str, query: Query) -> Json:
        """Return an answer of the API; empty if the user lacks the permission."""
        return await self.api.get(path, query) if self.may(permission) else Json()

    async def listed(
        self, path: str, row: FilterRow, *more: tuple[str, str], also: str = ""
    ) -> Listed:
        """Return a page of a list, or the API's error message about the filter.

        `also` is a further filter.

        Raises:
            ApiRefusal: the API refuses for any reason except the filter.
        """
        chosen = filters.all_of((also, row.text_of_api()))
        query = [*self.page_query(), *more, *([("filter", chosen)] if chosen else [])]
        try:
            answer = await self.api.get(path, query)
        except ApiRefusal as refused:
            if refused.status != BAD_REQUEST or not chosen:
                raise
            return Listed(Json(), refused.fields.get("filter", refused.message))
        is_empty = not any(answer.values())
        return Listed(answer, "", await self._meant(row) if is_empty else ())

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
        """Return the pairs of scopes in use that have a text as their value."""
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
        """Render a page of a list with its filter row; status 400 reports a filter error."""
        token = listed.answer["nextPageToken"]
        as_filtered = BAD_REQUEST if listed.fault else 200
        return self.render(
            template,
            as_filtered if status is None else status,
            filters=row,
            fault=listed.fault,
            meant=listed.meant,
            older=row.query(**{TOKEN_PARAMETER: token}) if token else None,
            **values,
        )

    async def download(self, path: str, chosen: str, file: str) -> Response:
        """Return all matches of a filter in a list as a file.

        A first request for one row finds errors while an error page can still be shown.

        Raises:
            ApiRefusal: the API refuses the list.
        """
        query = [("filter", chosen)] if chosen else []
        await self.api.get(path, [("pageSize", "1"), *query])
        return self.api.download(f"{path}:export", query, file)

    def first_page(self, parameter: str = TOKEN_PARAMETER) -> str:
        """Return the query of a list's first page, with its `?` and all other parameters."""
        given = self.request.query_params.multi_items()
        kept = [(name, value) for name, value in given if value and name != parameter]
        return f"?{urlencode(kept)}" if kept else ""

    def done(
        self, url: str, did: str, back: str = "", memories: Sequence[str] = (), **values: str
    ) -> Response:
        """Redirect to a page that says what was done, and what takes it back; see `Carried`."""
        note = Carried(at=url, did=did, values=values, back=back, memories=tuple(memories))
        answer = redirect(url)
        carry(self.request, answer, self.session.value, NOTE, note.packed())
        return answer

    def filled(self, form: type[_F]) -> _F | None:
        """Return the form of this page that was sent without a session; None: none was."""
        kept = read(self.request, self.session.value, FORM)
        return None if kept is None else filled(kept, form)

    def undo_of(self, operation: Json) -> str:
        """Return the path of the undo of a change; empty: the user may not undo it."""
        needed = (Permission.OPERATIONS_GET, Permission.OPERATIONS_UNDO)
        name = quote(last_part(operation["name"]), safe="")
        return f"{self.engine_url}/operations/{name}/undo" if all(map(self.may, needed)) else ""

    def render(self, template: str, status: int = 200, /, **values: object) -> Response:
        """Render a page, with what was carried to it."""
        here = {kind: read(self.request, self.session.value, kind) for kind in (NOTE, FORM)}
        answer = rendered(
            self.request,
            template,
            status,
            {
                "session": self.session,
                "engine": self.request.path_params.get("engine"),
                "engine_url": self.engine_url if "engine" in self.request.path_params else None,
                "curls": self.api.made,
                "now": self.now,
                "older": None,
                "meant": (),
                "users_url": self._users_url,
                "is_first": TOKEN_PARAMETER not in self.request.query_params,
                "first_page": self.first_page(),
                "request_id": new_request_id(),
                "carried": here,
                **values,
            },
        )
        for kind in (kind for kind in here if here[kind]):
            drop_cookie(self.request, answer, kind)
        return answer


def rendered(
    request: Request, template: str, status: int, values: Mapping[str, Any]
) -> HTMLResponse:
    """Render a template with the values that all pages need."""
    session: OpenSession | None = values.get("session")
    frame: dict[str, Any] = {
        "session": None,
        "engine": None,
        "engine_url": None,
        "curls": [],
        "places": None,
        "find_text": "",
        "carried": {},
    }
    if session is not None:
        engine = request.scope.get("path_params", {}).get("engine")
        frame["engine"] = engine
        frame["places"] = places_of(session.caller, request.url.path.rstrip("/"), engine)
    page = environment().get_template(template)
    shown = page.render({**frame, "exposed": is_exposed(request), **values})
    return HTMLResponse(shown, status)


def redirect(url: str) -> Response:
    """Redirect the browser to another page with a GET request."""
    return RedirectResponse(url, status_code=303)


Page = Callable[[Visit], Awaitable[Response]]


class Route:
    """A path of the console; the access log records this template instead of ids.

    The fields of `kept` are kept if its form is sent without a session.
    """

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
        self.pages = {
            method: page
            for method, page in (("GET", get), ("HEAD", get), ("POST", post))
            if page is not None
        }
