"""Incoming bodies, counted while they arrive, with a limit on slowness; and JSON bodies.

Only the time spent waiting for the client counts. `app.kernel.limits` decides on counts and limits.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from math import ceil
from typing import Any, Self

import structlog
from prometheus_client import Counter
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import override

from app.adapters.uvicorn.room import no_room
from app.kernel.auth import Caller
from app.kernel.errors import (
    DeadlineExceeded,
    InvalidArgument,
    Reason,
    ResourceExhausted,
    ServiceError,
)
from app.kernel.limits import MAX_COST, HeldBody, Limits
from app.kernel.wire.reading import Unstorable, read_object, read_said
from app.web.errors import render
from app.web.headers import HttpMiddleware, address_of, header

PIECE_BYTES = 64 * 1024
"""Bytes accounted for a streamed body; other bodies count for more."""
LOOK_SECONDS = 1.0
"""Time between two checks of a body's pace."""
_LOOKS = 5
"""Number of checks over which the pace must suffice."""
_SLACK_LOOKS = 1
"""Additional checks in the measurement: a burst may fall on either side of a check."""
_LATE_SECONDS = 0.5
"""Delay of a check beyond which this process is too slow, not the client."""
_SHORTEST_SECONDS = 0.001


@dataclass(frozen=True)
class BodyPace:
    """The slowest acceptable pace of a body.

    Attributes:
        seconds: the limit for the whole body; for a streamed one, for each piece.
        min_bytes_per_second: the rate after some seconds of slowness; 0: no bound.
    """

    seconds: float
    min_bytes_per_second: int


class Incoming:
    """A body being received; it counts until the end of its `with` block."""

    def __init__(
        self, scope: Scope, receive: Receive, pace: BodyPace, *, is_streamed: bool
    ) -> None:
        declared = header(scope, b"content-length") or b""
        self._declared = int(declared) if declared.isdigit() else 0
        self._limits: Limits = scope["app"].state.gate.limits
        self._caller: Caller | None = scope.get("state", {}).get("caller")
        self._address = address_of(scope) if self._caller is None else None
        self._receive = receive
        self._pace = pace
        self._is_streamed = is_streamed
        self._held: HeldBody | None = None
        self._is_given_up = False
        self._clock: asyncio.Timeout | None = None
        """The timer of the current wait for a message."""
        self._has_ended = False
        self._received = 0
        self._kept = PIECE_BYTES
        """Bytes accounted for; beyond this number, more must be requested."""
        self._waited = 0.0
        self._deadline = pace.seconds
        self._next_look = LOOK_SECONDS
        self._looks = [0]
        """Bytes received at the last checks, a second apart."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def release(self) -> None:
        """Stop counting the body: its content is no longer held."""
        if self._held is not None:
            self._held.release()
            self._held = None

    async def receive(self) -> Message:
        """Return the next message from the server.

        Raises:
            DeadlineExceeded: the body arrives too slowly.
            ResourceExhausted: too many bodies are open, or their total length is too large.
            Unavailable: the connection is needed for others.
        """
        if self._has_ended:
            return await self._receive()
        try:
            held = self._held or self._hold()
            message = await self._next(held)
            self._take(message, held)
        except ServiceError:
            self._stop()
            raise
        return message

    def _stop(self) -> None:
        """Stop receiving, and break reference cycles."""
        self.release()
        self._has_ended = True
        self._receive = _disconnected

    def _hold(self) -> HeldBody:
        self._held = held = self._limits.hold_body(self._caller, self._address, self._give_up)
        if self._is_streamed:
            held.keep(PIECE_BYTES)
        elif self._declared > PIECE_BYTES:
            self._kept = self._declared
            held.keep(self._kept)
        return held

    def _take(self, message: Message, held: HeldBody) -> None:
        self._received += len(message.get("body", b""))
        if self._is_streamed:
            if self._received >= self._kept:
                self._kept = self._received + PIECE_BYTES
                self._deadline = self._waited + self._pace.seconds
        elif self._received > self._kept:
            self._kept = -(-self._received // PIECE_BYTES) * PIECE_BYTES
            held.keep(self._kept)
        if not message.get("more_body"):
            self._has_ended = True
            held.end()

    async def _next(self, held: HeldBody) -> Message:
        loop = asyncio.get_running_loop()
        while not self._is_given_up:
            seconds = max(min(self._next_look, self._deadline) - self._waited, _SHORTEST_SECONDS)
            began = loop.time()
            try:
                # Only the client is awaited here: no database statement can be cancelled.
                async with asyncio.timeout(seconds) as self._clock:
                    return await self._receive()
            except TimeoutError:
                pass
            finally:
                self._clock = None
                elapsed = loop.time() - began
                self._waited += elapsed
            if self._waited >= self._deadline:
                raise _too_slow(f"The body took longer than {self._pace.seconds:g} seconds.")
            if self._waited >= self._next_look and not self._is_given_up:
                self._check_pace(held, is_late=elapsed - seconds > _LATE_SECONDS)
        raise no_room()

    def _check_pace(self, held: HeldBody, *, is_late: bool) -> None:
        self._next_look = self._waited + LOOK_SECONDS
        held.count()
        if is_late:
            self._looks.clear()
        self._looks.append(self._received)
        if len(self._looks) > _LOOKS + _SLACK_LOOKS:
            least = self._pace.min_bytes_per_second
            if self._received - self._looks.pop(0) < least * _LOOKS:
                raise _too_slow(f"The body came more slowly than {least} bytes a second.")

    def _give_up(self) -> None:
        self._is_given_up = True
        if self._clock is not None and not self._clock.expired():
            self._clock.reschedule(asyncio.get_running_loop().time())


async def _disconnected() -> Message:
    return {"type": "http.disconnect"}


def _too_slow(message: str) -> DeadlineExceeded:
    error = DeadlineExceeded(message, Reason.REQUEST_TOO_SLOW, http=408)
    error.ends_connection = True
    return error


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
    "Characters of events and conversations that cannot be stored, replaced by U+FFFD.",
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
    # Requests without a key are free.
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
