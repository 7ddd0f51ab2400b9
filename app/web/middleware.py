"""Middleware of all requests: hosts, encodings, ids, access log, metrics, and uncaught faults.

An attacker's host name may resolve to this machine; its pages then send that name as `Host`.

Cross-origin check: pages of other origins are refused unless their origin is listed. It is not
enough to omit the headers that let a page read an answer: a browser that has opened the
documentation sends the key in `Authorization: Basic` automatically, for requests of any page, and
such a request would take effect. So a request

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

Source: RFC 9110, sections 7.2 and 15.5.20; Fetch Standard, sections 3.2 and 3.3; Fetch Metadata
Request Headers; RFC 6454.
"""

import asyncio
import math
import re
import secrets
from collections.abc import Sequence
from datetime import timedelta
from functools import lru_cache
from time import perf_counter

import structlog
from prometheus_client import Histogram
from starlette.datastructures import MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars, get_contextvars, reset_contextvars
from typing_extensions import override

from app.adapters import tracing
from app.kernel.errors import (
    Internal,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    Reason,
    ServiceError,
    Unavailable,
    describe,
)
from app.kernel.reads import reads_of_request
from app.settings.access_settings import ANY_HOST, ANY_ORIGIN
from app.web.body import charged
from app.web.errors import render
from app.web.headers import (
    NODES_AWAY,
    READ_AGE,
    HttpMiddleware,
    address_of,
    authority,
    header,
    headers,
    protect,
)
from app.web.metrics import REQUEST_SECONDS

_PLAIN = frozenset({b"", b"identity"})
_PROBES = frozenset({"/healthz", "/readyz"})
"""Paths requested by a machine's address; their answers are the same for every host."""
_ANY_PORT = 80
log = structlog.get_logger()
_MILLISECOND = timedelta(milliseconds=1)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_REQUEST_ID = re.compile(rb"[A-Za-z0-9_.-]{1,64}")
_TRACEPARENT = re.compile(rb"[0-9a-f-]{55}")
"""Source: W3C Trace Context, version 00."""
_RETRY_SECONDS = 1


class PlainBody(HttpMiddleware):
    """ASGI middleware that answers 415 to bodies declared as compressed."""

    @override
    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _is_plain(scope):
            await self._app(scope, receive, send)
            return
        error = InvalidArgument(
            "Content-Encoding: must be identity or absent; send the body uncompressed.",
            Reason.CONTENT_ENCODING_NOT_SERVED,
            http=415,
        )
        answer = render(await charged(scope, error))
        # The accepted encoding. Source: RFC 9110, section 15.5.16.
        answer.headers["Accept-Encoding"] = "identity"
        await answer(scope, receive, send)


def _is_plain(scope: Scope) -> bool:
    codings = b",".join(headers(scope, b"content-encoding")).lower().split(b",")
    return all(coding.strip() in _PLAIN for coding in codings)


class Hosts(HttpMiddleware):
    """ASGI middleware that answers 421 to hosts not served here."""

    def __init__(self, app: ASGIApp, allowed: Sequence[str]) -> None:
        super().__init__(app)
        self._is_any = ANY_HOST in allowed
        self._allowed = frozenset(host.encode() for host in allowed)

    @override
    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._is_any or self._is_served(scope):
            await self._app(scope, receive, send)
            return
        error = InvalidArgument(
            "This host is not served here; an operator can list it in MEMORY_BANK_ALLOWED_HOSTS.",
            Reason.HOST_NOT_SERVED,
            http=421,
        )
        await render(error)(scope, receive, send)

    def _is_served(self, scope: Scope) -> bool:
        host = authority(header(scope, b"host") or b"", _ANY_PORT)
        return scope["path"] in _PROBES or (host is not None and host[0] in self._allowed)


class RequestLog(HttpMiddleware):
    """The outermost of our ASGI middlewares, which logs and measures requests."""

    @override
    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = _request_id(scope)
        status, has_begun = 500, False
        started = perf_counter()

        async def send_with_id(message: Message) -> None:
            nonlocal status, has_begun
            if message["type"] == "http.response.start":
                status, has_begun = message["status"], True
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = request_id
                if reads.age is not None:
                    headers[READ_AGE] = str(math.ceil(reads.age / _MILLISECOND))
                protect(headers, scope["path"])
            await send(message)

        # The caller is still unknown; bound here, it is also reset at the end.
        bound = bind_contextvars(request_id=request_id, caller=None)
        with tracing.request_span(_traceparent(scope)), reads_of_request() as reads:
            try:
                await self._app(scope, receive, send_with_id)
            except asyncio.CancelledError:
                # The server cancels requests that outlast its grace period.
                if has_begun:
                    raise
                await render(_stopping())(scope, receive, send_with_id)
            finally:
                _record(scope, status, perf_counter() - started)
                reset_contextvars(**bound)


class Faults(HttpMiddleware):
    """ASGI middleware that answers faults left unhandled by the inner application."""

    @override
    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except ServiceError as error:
            await render(error)(scope, receive, send)
        except Exception as error:  # noqa: BLE001 - the last place where a fault becomes an answer
            # Not `exception`: its message may quote the text of a memory.
            log.error("request.unexpected_error", error=describe(error))  # noqa: TRY400 - as above
            request_id = get_contextvars()["request_id"]
            fault = Internal(
                "The service failed; its logs have the fault under this request id.",
                Reason.INTERNAL,
                metadata={"requestId": request_id},
            )
            await render(fault)(scope, receive, send)


class NoNul(HttpMiddleware):
    """ASGI middleware that refuses addresses with the character U+0000."""

    @override
    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        refuse_nul(scope)
        await self._app(scope, receive, send)


def refuse_nul(scope: Scope) -> None:
    """Refuse U+0000, the one character that Postgres cannot store in text.

    Raises:
        InvalidArgument: the query holds it.
        NotFound: the path holds it.
    """
    if "\x00" in scope["path"]:
        raise NotFound("No such path.", Reason.PATH_NOT_FOUND)
    if b"%00" in scope["query_string"]:
        raise InvalidArgument("The query holds the character U+0000.", Reason.FIELD_INVALID)


def _stopping() -> Unavailable:
    message = "The server is stopping; retry the request."
    return Unavailable(message, Reason.SERVER_STOPPING, retry_after_seconds=_RETRY_SECONDS)


def _request_id(scope: Scope) -> str:
    given = header(scope, b"x-request-id") or b""
    return given.decode() if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)


def _traceparent(scope: Scope) -> str | None:
    given = header(scope, b"traceparent") or b""
    return given.decode() if _TRACEPARENT.fullmatch(given) else None


@lru_cache(maxsize=4096)
def _series(method: str, route: str, status: int) -> Histogram:
    return REQUEST_SECONDS.labels(method, route, status)


def _record(scope: Scope, status: int, seconds: float) -> None:
    # Paths contain ids, and a query may contain a key. The log has only two ids: the engine's,
    # if it is within the caller's reach, and the operation's.
    route = getattr(scope.get("route"), "path", "none")
    # Callers may invent methods; each would create a new time series.
    method = scope["method"] if scope["method"] in _METHODS else "other"
    _series(method, route, status).observe(seconds)
    tracing.name_request(method, route, status)
    log.info(
        "request",
        method=method,
        route=route,
        status=status,
        milliseconds=round(seconds * 1000, 1),
        address=address_of(scope),
        **scope.get("state", {}).get("logged", {}),
    )


_CROSS_ORIGIN_METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST")
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
            allow_methods=_CROSS_ORIGIN_METHODS,
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
    # A proxy may have changed the case.
    return (header(scope, name) or b"").strip().lower()


def _is_own(origin: bytes, host: bytes) -> bool:
    scheme, _, page = origin.partition(b"://")
    if scheme not in _PORTS:
        return False
    asked = authority(host, _PORTS[scheme])
    return asked is not None and asked == authority(page, _PORTS[scheme])


def _drop_basic(scope: Scope) -> None:
    scope["headers"] = [
        (name, value)
        for name, value in scope["headers"]
        if name != b"authorization" or not value[:6].lower().startswith(b"basic")
    ]
