"""Screen 1: sign-in and sign-out."""

from starlette.requests import Request
from starlette.responses import Response

from app.kernel.errors import InvalidArgument, Reason, Unauthenticated
from app.surfaces.console.forms import ConsoleForm, read_form
from app.surfaces.console.sessions import (
    OpenSession,
    Sessions,
    drop_cookie,
    needs_tls,
    set_cookie,
)
from app.surfaces.console.visits import Route, Visit, redirect, rendered

START = "/console"
_FORBIDDEN = 403


class SignInForm(ConsoleForm):
    """A key or token."""

    key: str = ""


class SignOutForm(ConsoleForm):
    """The extent of a sign-out: this session, or all of the key."""

    everywhere: bool = False


async def answer(request: Request, sessions: Sessions, session: OpenSession | None) -> Response:
    """Show the form, or open a session."""
    if request.method == "POST":
        return await _sign_in(request, sessions)
    if request.method not in {"GET", "HEAD"}:
        message = f"{request.method} is not served on this path; use GET, HEAD, POST."
        raise InvalidArgument(message, Reason.METHOD_NOT_ALLOWED, http=405)
    return redirect(START) if session is not None else _show(request, 200, has_failed=False)


async def _sign_in(request: Request, sessions: Sessions) -> Response:
    form = await read_form(request, SignInForm, None)
    try:
        value = await sessions.sign_in(request, form.key.strip())
    except Unauthenticated:
        # A 401 would make the browser open its own password dialogue.
        return _show(request, _FORBIDDEN, has_failed=True)
    opened = redirect(START)
    set_cookie(request, opened, value)
    return opened


def _show(request: Request, status: int, *, has_failed: bool) -> Response:
    values = {"has_failed": has_failed, "needs_tls": needs_tls(request)}
    return rendered(request, "sign_in.html", status, values)


async def sign_out(visit: Visit) -> Response:
    """End this session, or all sessions of its key."""
    form = await read_form(visit.request, SignOutForm, visit.session)
    sessions = Sessions.of(visit.request)
    if form.everywhere:
        await sessions.end_all(visit.session.caller.key_id)
    else:
        await sessions.end(visit.session.value)
    ended = redirect("/console/sign-in")
    drop_cookie(visit.request, ended)
    return ended


ROUTES = (Route("/console/sign-out", post=sign_out),)
