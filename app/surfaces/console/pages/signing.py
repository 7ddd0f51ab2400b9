"""Screen 1: sign-in and sign-out."""

import re
from urllib.parse import urlencode

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from app.kernel.errors import InvalidArgument, Reason, Unauthenticated
from app.surfaces.console import carried
from app.surfaces.console.forms import ConsoleForm, read_form
from app.surfaces.console.sessions import OpenSession, Sessions, drop_cookie, needs_tls, set_cookie
from app.surfaces.console.texts import TEXTS
from app.surfaces.console.visits import Route, Visit, redirect, rendered

START = "/console"
PATH = "/console/sign-in"
_SIGNING = (PATH, "/console/sign-out")
_OWN = re.compile(r"/console(?:[/?][!-\[\]-~]*)?")
"""A path and its query: printable ASCII without a backslash, which browsers take as a slash."""
_MAX_CHARS = 8_000
_FORBIDDEN, _TOO_MANY = 403, 429


class SignInForm(ConsoleForm):
    """A key or token, the page to show afterwards, and a form to fill in there."""

    key: str = ""
    next: str = ""
    kept: str = Field("", max_length=carried.MOST_CHARS, pattern="^[A-Za-z0-9_-]*$")


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
    wanted = request.query_params.get("next", "")
    return redirect(_own(wanted)) if session is not None else _show(request, 200, wanted)


async def _sign_in(request: Request, sessions: Sessions) -> Response:
    form = await read_form(request, SignInForm, None)
    # Another site may have filled it in.
    kept = form.kept if carried.is_of_own_page(request) else ""
    try:
        value = await sessions.sign_in(request, form.key.strip())
    except Unauthenticated as error:
        # A 401 would make the browser open its own password dialogue.
        if await sessions.refuse(request, error):
            return _show(request, _FORBIDDEN, form.next, kept, TEXTS.key_wrong)
        return _show(request, _TOO_MANY, form.next, kept, TEXTS.too_many_wrong_keys)
    opened = redirect(_own(form.next))
    set_cookie(request, opened, value)
    if kept:
        carried.carry(request, opened, value, carried.FORM, kept)
    return opened


def show_unsent(request: Request, wanted: str, kept: str) -> Response:
    """Show the form in answer to another form, whose packed fields it keeps; empty: none."""
    is_kept = kept and _own(wanted) == wanted
    unsent = TEXTS.unsent if is_kept else TEXTS.unsent_lost
    return _show(request, 200, wanted, kept if is_kept else "", unsent=unsent)


def _show(
    request: Request, status: int, wanted: str, kept: str = "", fault: str = "", unsent: str = ""
) -> Response:
    texts = {"fault": fault, "wanted": wanted, "kept": kept, "unsent": unsent}
    values = {**texts, "needs_tls": needs_tls(request)}
    return rendered(request, "sign_in.html", status, values)


def sign_in_url(wanted: str) -> str:
    """Return the address of the sign-in, which leads to a page of the console afterwards."""
    wanted = _own(wanted)
    return PATH if wanted == START else f"{PATH}?{urlencode({'next': wanted})}"


def _own(wanted: str) -> str:
    """Return the path of a page of the console; the start page instead of anything else."""
    is_own = len(wanted) <= _MAX_CHARS and _OWN.fullmatch(wanted)
    return wanted if is_own and not wanted.startswith(_SIGNING) else START


async def sign_out(visit: Visit) -> Response:
    """End this session, or all sessions of its key."""
    form = await read_form(visit.request, SignOutForm, visit.session)
    sessions = Sessions.of(visit.request)
    if form.everywhere:
        await sessions.end_all(visit.session.caller.key_id)
    else:
        await sessions.end(visit.session.value)
    ended = redirect(PATH)
    drop_cookie(visit.request, ended)
    return ended


ROUTES = (Route("/console/sign-out", post=sign_out),)
