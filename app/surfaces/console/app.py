"""The console's ASGI application: routes, sessions, headers and error pages."""

from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars

from app.adapters.logs import request_id
from app.kernel.errors import InvalidArgument, NotFound, Reason, ServiceError
from app.surfaces.api import ApiRefusal
from app.surfaces.console import carried, templating
from app.surfaces.console.forms import pack_form
from app.surfaces.console.pages import ROUTES, signing
from app.surfaces.console.sessions import OpenSession, Sessions, cookie_name, drop_cookie
from app.surfaces.console.templating import environment
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import IN_PLACE_OF_ALL, Route, Visit, redirect, rendered
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
_NO_CONTENT = 204
"""Lets htmx change nothing."""
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
        title, hint = _words(refused.status, is_forbidden=refused.is_forbidden)
        status, message, reason = refused.status, refused.message, refused.reason
    except ServiceError as error:
        title, hint = _words(error.http_status, is_forbidden=False)
        status, message, reason = error.http_status, error.message, error.reason.value
    texts = {"title": title, "hint": hint, "message": message, "reason": reason}
    values = {**texts, "session": session, "failed_request": request_id()}
    page = rendered(request, "error.html", status, values)
    if "hx-request" in request.headers:
        if _is_check(request):
            return Response(status_code=_NO_CONTENT)
        page.headers.update(IN_PLACE_OF_ALL)
    return page


async def _page(request: Request, sessions: Sessions, session: OpenSession | None) -> Response:
    refuse_nul(request.scope)
    path = request.url.path.rstrip("/")
    if path == _SIGN_IN.path:
        request.scope["route"] = _SIGN_IN
        return await signing.answer(request, sessions, session)
    if session is None:
        return await _sent_to_sign_in(request)
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


async def _sent_to_sign_in(request: Request) -> Response:
    route = _with_page(request)
    if "hx-request" in request.headers:
        if _is_check(request) or (route is not None and route.kept is not None):
            # The page has a form, which is kept when it is sent.
            return Response(status_code=_NO_CONTENT)
        # htmx requests a part of a page, which the sign-in form must not replace.
        whole = urlsplit(request.headers.get("hx-current-url", ""))
        wanted = "?".join(filter(None, (whole.path, whole.query)))
        return Response(headers={"HX-Redirect": signing.sign_in_url(wanted)})
    shown = "" if route is None else carried.address(request)
    answer = redirect(signing.sign_in_url(shown))
    if route is not None and route.kept is not None and carried.is_of_own_page(request):
        answer = signing.show_unsent(request, shown, await pack_form(request, shown, route.kept))
    # Links from other sites arrive without the cookie; it must not be dropped then.
    if cookie_name(request) in request.cookies:
        drop_cookie(request, answer)
    return answer


def _is_check(request: Request) -> bool:
    """Return True for a check while a form is filled in, where what was typed must stay."""
    is_form = request.headers.get("hx-source", "").startswith("form")
    return request.method == "POST" and not is_form


def _with_page(request: Request) -> Route | None:
    """Return the route of a request if a link can open it."""
    path = request.url.path.rstrip("/")
    matching = (route for route in ROUTES if route.regex.fullmatch(path) and "GET" in route.pages)
    return next(matching, None)


def _words(status: int, *, is_forbidden: bool) -> tuple[str, str]:
    if is_forbidden:
        return TEXTS.no_permission, TEXTS.no_permission_hint
    if status == 404:
        return TEXTS.not_found, TEXTS.not_found_hint
    return (TEXTS.unavailable if status >= 500 else TEXTS.failed), ""
