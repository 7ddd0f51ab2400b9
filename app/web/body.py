"""JSON bodies: bounded, timely, declared as JSON, one object, with storable values only."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from math import ceil
from typing import Any

import structlog
from prometheus_client import Counter
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import override

from app.kernel.errors import InvalidArgument, Reason, ResourceExhausted, ServiceError
from app.kernel.limits import MAX_COST, Limits
from app.kernel.wire.reading import Unstorable, read_object, read_said
from app.web.asgi import HttpMiddleware
from app.web.errors import render
from app.web.headers import header
from app.web.incoming import BodyPace, Incoming

_INCOMPLETE = "The body is incomplete: the connection closed before its end."
LONG_BYTES = 32 * 1024
"""Longer bodies are parsed in a thread."""
_LARGE_BYTES = 256 * 1024
"""Longer bodies are charged to the key, and few are parsed at a time."""
_CHECKED_AT_ONCE = 2
_UNIT_BYTES = 512 * 1024
"""Bytes of a large body for each unit charged to the key's rate."""
log = structlog.get_logger()
_REPLACED = Counter(
    "memory_bank_replaced_characters_total",
    "Characters of events and conversations that cannot be stored: U+FFFD stands in their place.",
)


@dataclass(frozen=True)
class BodyRoutes:
    """Routes with a special treatment of bodies; each matches "METHOD /path".

    Attributes:
        streamed: routes that read their bodies themselves.
        said: routes with fields in which characters are replaced: see `Demand.said`.
    """

    streamed: re.Pattern[str]
    said: Sequence[tuple[re.Pattern[str], frozenset[str]]] = ()

    def said_of(self, target: str) -> frozenset[str]:
        """Return the fields of a route's body in which characters are replaced."""
        return next((names for form, names in self.said if form.fullmatch(target)), frozenset())


class JsonBody(HttpMiddleware):
    """ASGI middleware that checks every request body and passes it on whole."""

    def __init__(self, app: ASGIApp, max_bytes: int, pace: BodyPace, bodies: BodyRoutes) -> None:
        super().__init__(app)
        self._bodies = bodies
        self._max_bytes = max_bytes
        self._pace = pace
        # Parsing may take a hundred times the memory of a body.
        self._checking = asyncio.Semaphore(_CHECKED_AT_ONCE)

    @override
    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._bodies.streamed.fullmatch(_target(scope)):
            with Incoming(scope, receive, self._pace, is_streamed=True) as incoming:
                await self._app(scope, incoming.receive, send)
        elif _has_none(scope):
            # Counting and timing an absent body would double the cost of this middleware.
            await self._pass_on(scope, receive, receive, send)
        else:
            with Incoming(scope, receive, self._pace, is_streamed=False) as incoming:
                scope.setdefault("state", {})["incoming"] = incoming
                await self._pass_on(scope, incoming.receive, receive, send)

    async def _pass_on(self, scope: Scope, incoming: Receive, receive: Receive, send: Send) -> None:
        try:
            body = await read_body(scope, incoming, self._max_bytes)
            if body:
                # Parsed once: the route takes the result from the scope.
                scope.setdefault("state", {})["json"] = await self._check(scope, body)
        except ServiceError as error:
            await render(await charged(scope, error))(scope, receive, send)
            return
        if body:
            # The framework must parse the body as JSON, for any declared type.
            MutableHeaders(scope=scope)["content-type"] = "application/json"
        replayed = _replay(body, receive)
        # With `replayed` as the only reference to the bytes, the route can free them.
        del body
        try:
            await self._app(scope, replayed, send)
        finally:
            # A closed connection keeps its last request until garbage collection.
            scope.get("state", {}).pop("json", None)

    async def _check(self, scope: Scope, body: bytes) -> dict[str, Any]:
        declared = header(scope, b"content-type")
        content_type = None if declared is None else declared.decode("latin-1")
        if len(body) <= LONG_BYTES:
            return self._read(scope, body, content_type)
        if len(body) <= _LARGE_BYTES:
            return await asyncio.to_thread(self._read, scope, body, content_type)
        # Charged before the work; an admitted request also pays for its method.
        await _charge(scope, min(MAX_COST, ceil(len(body) / _UNIT_BYTES)))
        async with self._checking:
            return await asyncio.to_thread(self._read, scope, body, content_type)

    def _read(self, scope: Scope, body: bytes, content_type: str | None) -> dict[str, Any]:
        try:
            return read_json(body, content_type)
        except Unstorable:
            said = self._bodies.said_of(_target(scope))
            if not said:
                raise
        value, replaced = read_said(body, "body", lambda name: not said.isdisjoint({name, "*"}))
        _REPLACED.inc(replaced)
        log.warning("body.characters_replaced", count=replaced)
        return value


def _target(scope: Scope) -> str:
    return f"{scope['method']} {scope['path']}"


def _has_none(scope: Scope) -> bool:
    """Return True if a request has no body."""
    return (header(scope, b"content-length") or b"0") == b"0" and (
        header(scope, b"transfer-encoding") is None
    )


async def read_body(scope: Scope, receive: Receive, max_bytes: int) -> bytes:
    """Return the whole body of a request.

    Raises:
        InvalidArgument: the connection closed before the end of the body.
        ResourceExhausted: the body is too long.
    """
    declared = header(scope, b"content-length") or b"0"
    if declared.isdigit() and int(declared) > max_bytes:
        raise _too_long(max_bytes)
    body = BytesIO()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            # The request is incomplete, and the client is gone.
            raise InvalidArgument(_INCOMPLETE, Reason.BODY_NOT_JSON)
        body.write(message.get("body", b""))
        if body.tell() > max_bytes:
            raise _too_long(max_bytes)
        if not message.get("more_body"):
            # A copy would block the event loop and double the memory.
            return body.getvalue()


def _too_long(max_bytes: int) -> ResourceExhausted:
    return ResourceExhausted(
        f"The body must be at most {max_bytes} bytes.", Reason.BODY_TOO_LARGE, http=413
    )


def _replay(body: bytes, receive: Receive) -> Receive:
    left = [body]
    del body

    async def replayed() -> Message:
        if not left:
            return await receive()
        return {"type": "http.request", "body": left.pop(), "more_body": False}

    return replayed


def let_go(request: Request) -> None:
    """Free the bytes of a parsed body, and stop counting them."""
    # The framework only checks that the body is not empty.
    request._body = b"{}"  # noqa: SLF001 - the framework keeps it here
    del request.state.json
    incoming: Incoming | None = getattr(request.state, "incoming", None)
    if incoming is not None:
        incoming.release()


async def _charge(scope: Scope, cost: int) -> None:
    """Charge work before admission to the caller's key; requests without a key are free."""
    caller = scope.get("state", {}).get("caller")
    if caller is not None:
        limits: Limits = scope["app"].state.gate.limits
        await limits.charge(caller, None, cost)


async def charged(scope: Scope, error: ServiceError) -> ServiceError:
    """Charge a refusal to its key; return the refusal, or the error of a used-up rate."""
    try:
        await _charge(scope, 1)
    except ServiceError as refusal:
        refusal.ends_connection = error.ends_connection
        return refusal
    return error


def read_json(body: bytes, content_type: str | None) -> dict[str, Any]:
    """Parse a body as a JSON object with storable values only.

    Raises:
        InvalidArgument: the body is not a valid object; status 415 for another declared type.
    """
    media = media_type(content_type)
    if media != "application/json" and not media.endswith("+json"):
        raise InvalidArgument(
            "Content-Type: must be application/json.", Reason.CONTENT_TYPE_NOT_JSON, http=415
        )
    return read_object(body, "body")


def media_type(content_type: str | None) -> str:
    """Return the declared media type of a body without parameters; JSON by default."""
    return (content_type or "application/json").partition(";")[0].strip().lower()


async def pieces(request: Request) -> AsyncIterator[bytes]:
    """Yield the parts of a body as they arrive, for a route with the demand `is_streamed`.

    The length is unlimited; the pace is not.

    Raises:
        DeadlineExceeded: the body arrives too slowly.
        InvalidArgument: the connection closed before the end of the body.
        ResourceExhausted: the key has too many bodies open.
    """
    try:
        async for piece in request.stream():
            if piece:
                yield piece
    except ClientDisconnect:
        raise InvalidArgument(_INCOMPLETE, Reason.BODY_NOT_JSON) from None
