"""Cross-origin check: pages of other origins are refused unless their origin is listed.

It does more than omit the headers that let a page read an answer. A browser that has opened the
documentation sends the key in `Authorization: Basic` automatically, for requests of any page.
Such a request would take effect even if the page cannot read the answer. So a request

    with Sec-Fetch-Site: same-origin     is served: the browser knows it behind any proxies
    with Sec-Fetch-Site: cross-site, same-site
                                         is served if `Origin` is listed, or if it follows a link,
                                         since no page can read that answer
    without it, with Origin              is served if `Origin` names the request's host and port,
                                         or is listed
    with neither                         is served: it comes from no browser, or from the user

Without Sec-Fetch-Site, origins are compared without their scheme: behind a proxy that ends TLS,
this service does not know it. `null`, the origin of files and of sandboxed frames, is never
accepted. A listed origin is served without `Authorization: Basic`: its pages send their own key.

Source: Fetch Standard, sections 3.2 and 3.3; Fetch Metadata Request Headers; RFC 6454.
"""

from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

from app.kernel.errors import PermissionDenied, Reason
from app.settings.access_settings import ANY_ORIGIN
from app.web.asgi import HttpMiddleware
from app.web.errors import render
from app.web.headers import NODES_AWAY, READ_AGE, authority, header

_METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST")
_EXPOSED = (
    "etag",
    "x-request-id",
    "retry-after",
    "www-authenticate",
    "x-memory-bank-retrieval",
    NODES_AWAY,
    READ_AGE,
)
_PREFLIGHT_SECONDS = 600
_PORTS = {b"http": 80, b"https": 443}


class Origins(HttpMiddleware):
    """ASGI middleware that answers 403 to pages of other origins, before any other check."""

    def __init__(self, app: ASGIApp, allowed: Sequence[str]) -> None:
        super().__init__(app)
        self._allowed = frozenset(allowed)
        self._crossing = CORSMiddleware(
            app,
            allow_origins=allowed,
            allow_methods=_METHODS,
            allow_headers=("*",),
            # A listed page on the internet may call a service on the local network.
            allow_private_network=True,
            expose_headers=_EXPOSED,
            max_age=_PREFLIGHT_SECONDS,
        )

    @override
    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = header(scope, b"origin")
        if not _is_foreign(scope, origin):
            await self._app(scope, receive, send)
        elif origin is not None and self._is_listed(origin):
            _drop_basic(scope)
            await self._crossing(scope, receive, send)
        else:
            error = PermissionDenied(
                "This origin may not send requests; an operator can list it in"
                " MEMORY_BANK_CORS_ORIGINS.",
                Reason.ORIGIN_NOT_ALLOWED,
            )
            await render(error)(scope, receive, send)

    def _is_listed(self, origin: bytes) -> bool:
        return ANY_ORIGIN in self._allowed or origin.decode("latin-1") in self._allowed


def _is_foreign(scope: Scope, origin: bytes | None) -> bool:
    site = _token(scope, b"sec-fetch-site")
    if site == b"same-origin":
        return False
    if site in {b"cross-site", b"same-site"}:
        return not _is_followed_link(scope)
    return origin is not None and not _is_own(origin, header(scope, b"host") or b"")


def _is_followed_link(scope: Scope) -> bool:
    """Return True if the answer opens in its own window, not inside another page."""
    return (
        scope["method"] == "GET"
        and _token(scope, b"sec-fetch-mode") == b"navigate"
        and _token(scope, b"sec-fetch-dest") == b"document"
    )


def _token(scope: Scope, name: bytes) -> bytes:
    """Return a header's value in lower case, since a proxy may have changed its case."""
    return (header(scope, name) or b"").strip().lower()


def _is_own(origin: bytes, host: bytes) -> bool:
    scheme, _, page = origin.partition(b"://")
    if scheme not in _PORTS:
        return False
    asked = authority(host, _PORTS[scheme])
    return asked is not None and asked == authority(page, _PORTS[scheme])


def _drop_basic(scope: Scope) -> None:
    """Remove credentials that a browser may send automatically."""
    scope["headers"] = [
        (name, value)
        for name, value in scope["headers"]
        if name != b"authorization" or not value[:6].lower().startswith(b"basic")
    ]
