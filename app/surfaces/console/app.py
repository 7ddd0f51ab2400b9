"""The console's ASGI application: routes, sessions, headers and error pages."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars

from app.adapters.logs import request_id
from app.kernel.errors import InvalidArgument, NotFound, Reason, ServiceError
from app.surfaces.api import ApiRefusal
from app.surfaces.console import templating
from app.surfaces.console.pages import ROUTES, signing
from app.surfaces.console.sessions import OpenSession, Sessions, cookie_name, drop_cookie
from app.surfaces.console.templating import environment
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import Route, Visit, redirect, rendered
from app.web.middleware import refuse_nul

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_IN_PLACE_OF_ALL = {"HX-Retarget": "main", "HX-Reselect": "main", "HX-Reswap": "outerHTML"}
"""Makes htmx replace the whole page: an error page lacks the requested part."""
_SIGN_IN = Route(signing.PATH)


class Console:
    """The console; it calls the routes of the API application in `scope["app"]`."""

    def __init__(self) -> None:
        # All templates are compiled before the first request.
        environment()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with a page."""

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        request = Request(scope, receive)
        answer = await _answer(request)
        await answer(scope, receive, send_guarded)


async def _answer(request: Request) -> Response:
    file = templating.answer(request.url.path)
    if file is not None:
        return file
    session: OpenSession | None = None
    try:
        sessions = Sessions.of(request)
        session = await sessions.find(request)
        if session is not None:
            bind_contextvars(caller=session.caller.key_id)
            request.scope.setdefault("state", {})["caller"] = session.caller
        return await _page(request, sessions, session)
    except ApiRefusal as refused:
        return _refusal(request, session, refused)
    except ServiceError as error:
        return _failure(request, session, error)


async def _page(request: Request, sessions: Sessions, session: OpenSession | None) -> Response:
    refuse_nul(request.scope)
    path = request.url.path.rstrip("/")
    if path == _SIGN_IN.path:
        request.scope["route"] = _SIGN_IN
        return await signing.answer(request, sessions, session)
    if session is None:
        return _sent_to_sign_in(request)
    for route in ROUTES:
        match = route.regex.fullmatch(path)
        if match is None:
            continue
        request.scope["route"] = route
        request.scope["path_params"] = match.groupdict()
        page = route.pages.get(request.method)
        if page is None:
            allowed = ", ".join(sorted(route.pages))
            message = f"{request.method} is not served on this path; use {allowed}."
            raise InvalidArgument(message, Reason.METHOD_NOT_ALLOWED, http=405)
        visit = Visit.of(request, session)
        if "hx-request" not in request.headers:
            # htmx requests a part of a page, without its frame.
            request.state.engine_title = await visit.engine_title()
        return await page(visit)
    raise NotFound("No such page.", Reason.PATH_NOT_FOUND)


def _sent_to_sign_in(request: Request) -> Response:
    if "hx-request" in request.headers:
        # htmx requests a part of a page, which the sign-in form must not replace.
        whole = urlsplit(request.headers.get("hx-current-url", ""))
        return Response(headers={"HX-Redirect": signing.sign_in_url(_joined(*whole[2:4]))})
    raw: bytes = request.scope.get("raw_path") or b""
    shown = _joined(raw.decode("latin-1"), request.url.query) if _has_page(request) else ""
    answer = redirect(signing.sign_in_url(shown))
    # Links from other sites arrive without the cookie; it must not be dropped then.
    if cookie_name(request) in request.cookies:
        drop_cookie(request, answer)
    return answer


def _joined(path: str, query: str) -> str:
    return f"{path}?{query}" if query else path


def _has_page(request: Request) -> bool:
    """Return True if the path of a request can be opened by a link."""
    path = request.url.path.rstrip("/")
    return any(route.regex.fullmatch(path) and "GET" in route.pages for route in ROUTES)


def _refusal(request: Request, session: OpenSession | None, refused: ApiRefusal) -> Response:
    title, hint = _words(refused.status, is_forbidden=refused.is_forbidden)
    texts = {"title": title, "hint": hint, "message": refused.message, "reason": refused.reason}
    return _error_page(request, session, refused.status, texts)


def _failure(request: Request, session: OpenSession | None, error: ServiceError) -> Response:
    title, hint = _words(error.http_status, is_forbidden=False)
    reason = error.reason.value
    texts = {"title": title, "hint": hint, "message": error.message, "reason": reason}
    return _error_page(request, session, error.http_status, texts)


def _words(status: int, *, is_forbidden: bool) -> tuple[str, str]:
    if is_forbidden:
        return TEXTS.no_permission, TEXTS.no_permission_hint
    if status == 404:
        return TEXTS.not_found, TEXTS.not_found_hint
    return (TEXTS.unavailable if status >= 500 else TEXTS.failed), ""


def _error_page(
    request: Request,
    session: OpenSession | None,
    status: int,
    texts: Mapping[str, str],
) -> Response:
    values = {**texts, "session": session, "failed_request": request_id()}
    page = rendered(request, "error.html", status, values)
    if "hx-request" in request.headers:
        page.headers.update(_IN_PLACE_OF_ALL)
    return page
