"""Request headers as passed by the server, and the base of our ASGI middlewares.

Names are in lower case, values in bytes. Source: RFC 9110, section 14; RFC 9530.
"""

import asyncio
import base64
import binascii
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Header
from fastapi.routing import APIRoute
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

from app.kernel.errors import InvalidArgument, NotFound, Reason

READ_AGE = "x-memory-bank-read-age-ms"
"""The header with the age of answers that were read from a standby."""
NODES_AWAY = "x-memory-bank-nodes-away"
"""The header of lists that lack the rows on these nodes of a distributed database."""
_DOCUMENTS = ("/openapi.json", "/docs")
_ASSETS = ("/docs/assets/", "/console/static/")
_RANGE = re.compile(r"bytes=(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))")
_SHA256 = re.compile(r"(?:^|,)\s*sha-256\s*=\s*:([A-Za-z0-9+/]{43}=):\s*(?=,|$)")
_UNSATISFIABLE = 416


def header(scope: Scope, name: bytes) -> bytes | None:
    """Return the first value of a header; None if it is absent."""
    # A fifth of the time of `starlette.datastructures.Headers`; it runs several times per
    # request.
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return None


def headers(scope: Scope, name: bytes) -> list[bytes]:
    """Return every value of a header."""
    return [value for key, value in scope["headers"] if key == name]


def authority(written: bytes, default_port: int) -> tuple[bytes, int] | None:
    """Return host (in lower case) and port of a `Host` value; None if it is malformed."""
    try:
        parts = urlsplit(b"//" + written)
        port = parts.port or default_port
    except ValueError:
        return None
    return (parts.hostname, port) if parts.hostname else None


def protect(answer: MutableHeaders, path: str = "") -> None:
    """Set the headers of every answer: browsers must not guess its type, and no cache stores it."""
    # Documents and their assets are the same for every caller and may be cached.
    answer["x-content-type-options"] = "nosniff"
    if path not in _DOCUMENTS and not path.startswith(_ASSETS):
        answer["cache-control"] = "no-store"


def address_of(scope: Scope) -> str | None:
    """Return the caller's IP address; behind a trusted proxy, the one the proxy reports."""
    client = scope.get("client")
    return _parsed(client[0]) if client else None


@lru_cache(maxsize=4_096)
def _parsed(host: str) -> str | None:
    # A proxy may pass on anything.
    try:
        return str(ip_address(host))
    except ValueError:
        return None


async def _if_match(
    if_match: Annotated[
        str | None, Header(description="The etag that was read; a stale one is 409 ABORTED.")
    ] = None,
) -> str | None:
    if if_match is None:
        return None
    etag = if_match.strip().removeprefix("W/").strip('"')
    if not etag or "," in etag:
        raise InvalidArgument.of_field("If-Match", "must be a single etag of the resource.")
    return etag


IfMatch = Annotated[str | None, Depends(_if_match)]


def etag_of(if_match: str | None, in_body: str | None) -> str | None:
    """Return the etag of an update, from the header or from the body.

    Raises:
        InvalidArgument: both are given and differ.
    """
    if if_match and in_body and if_match != in_body:
        raise InvalidArgument.of_field("etag", "differs from If-Match; send one of them.")
    return if_match or in_body


def read_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return the start and the exclusive end of a requested range of bytes.

    Return None for the whole content: no range, or several, malformed or non-byte ranges.

    Raises:
        InvalidArgument: the range is empty; with status 416.
    """
    match = _RANGE.fullmatch((header or "").strip())
    if match is None:
        return None
    first, last, suffix = match.groups()
    if suffix is not None:
        start, end = max(0, size - int(suffix)), size
    else:
        start, end = int(first), min(int(last) + 1, size) if last else size
        if last and int(last) < start:
            return None
    if start >= end:
        raise InvalidArgument(
            f"Range: the content has {size} bytes.",
            Reason.RANGE_NOT_SATISFIABLE,
            metadata={"sizeBytes": str(size)},
            http=_UNSATISFIABLE,
        )
    return start, end


def check_whole(headers: Mapping[str, str]) -> None:
    """Refuse a body that is only a part of its content."""
    if "content-range" in headers:
        # Required by RFC 9110, 14.5: otherwise the part would replace the whole.
        raise InvalidArgument.of_field("Content-Range", "must be absent; send the whole content.")


def read_digest(header: str | None) -> bytes | None:
    """Return the SHA-256 of a `Content-Digest` header, or None without the header.

    Raises:
        InvalidArgument: the header has no readable SHA-256, but its sender expects a check.
    """
    if not header:
        return None
    match = _SHA256.search(header)
    try:
        return base64.b64decode(match[1], validate=True) if match else _refuse()
    except binascii.Error:
        return _refuse()


def write_digest(sha256: bytes) -> str:
    """Return a digest in the form of `Content-Digest` and `Repr-Digest`."""
    return f"sha-256=:{base64.b64encode(sha256).decode()}:"


def _refuse() -> bytes:
    raise InvalidArgument.of_field(
        "Content-Digest", "must have `sha-256=:` and base64, then `:`; no other digest is compared."
    )


class HttpMiddleware(ABC):
    """ASGI middleware for requests; it passes anything else on, such as the lifespan."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        await (self.serve if scope["type"] == "http" else self._app)(scope, receive, send)

    @abstractmethod
    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, usually by the inner application."""


class Dispatch:
    """ASGI application that tries the routes before falling back to a full router.

    The framework would try each router in turn. Here routes are looked up by method and number of
    segments. The framework handles everything else: the documentation's files, unknown paths and
    unsupported methods.
    """

    def __init__(self, routes: Iterable[APIRoute], rest: ASGIApp) -> None:
        self._rest = rest
        self._routes: dict[tuple[str, int], list[APIRoute]] = defaultdict(list)
        for route in routes:
            for method in route.methods or ():
                self._routes[method, route.path.count("/")].append(route)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to its route."""
        if scope["type"] == "http":
            path = scope["path"]
            for route in self._routes.get((scope["method"], path.count("/")), ()):
                match = route.path_regex.fullmatch(path)
                if match is not None:
                    scope["route"] = route
                    scope["endpoint"] = route.endpoint
                    scope["path_params"] = match.groupdict()
                    await route.handle(scope, receive, send)
                    return
        await self._rest(scope, receive, send)


class Mount(HttpMiddleware):
    """ASGI middleware that hands a path and all paths below it to another application.

    The scope stays unchanged: the log shows the route, and `scope["app"]` is the API.
    """

    def __init__(self, app: ASGIApp, path: str, mounted: ASGIApp) -> None:
        super().__init__(app)
        self._path = path
        self._mounted = mounted

    @override
    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_below = scope["path"] == self._path or scope["path"].startswith(f"{self._path}/")
        await (self._mounted if is_below else self._app)(scope, receive, send)


class Late:
    """An application that is built at its first request, in a thread."""

    def __init__(self, build: Callable[[], ASGIApp]) -> None:
        self._build = build
        self._building = asyncio.Lock()
        self._built: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on to the application."""
        async with self._building:
            if self._built is None:
                self._built = await asyncio.to_thread(self._build)
        await self._built(scope, receive, send)


async def nowhere(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 - of ASGI
    """Stand in for an application that is not served."""
    raise NotFound("No such path.", Reason.PATH_NOT_FOUND)
