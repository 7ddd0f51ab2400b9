"""Reads JSON bodies: bounded, in time, declared as JSON, an object, of what can be stored only."""

import asyncio
import re
from collections.abc import AsyncIterator
from io import BytesIO
from math import ceil
from typing import Any, NoReturn

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.kernel.errors import InvalidArgument, Reason, ResourceExhausted, ServiceError
from app.kernel.limits import MAX_COST, Limits
from app.kernel.wire.reading import read_object
from app.web.errors import render
from app.web.headers import header
from app.web.incoming import BodyPace, Incoming

_BROKEN_OFF = "The body was broken off."
LONG_BYTES = 32 * 1024
"""A longer body is read, and checked, beside the event loop."""
_LARGE_BYTES = 256 * 1024
"""A longer one costs something, too, and not many are read at a time."""
_CHECKED_AT_ONCE = 2
_UNIT_BYTES = 512 * 1024
"""What a unit of the key's rate pays for, of such a body."""


class JsonBody:
    """ASGI middleware: checks the body of every request that has one, and passes it on whole.

    Args:
        app: the application inside.
        max_bytes: of a body.
        pace: how slowly a body may come.
        streamed: matches the method and path, with a blank between them, of the routes that read
            their bodies themselves.
    """

    def __init__(
        self, app: ASGIApp, max_bytes: int, pace: BodyPace, streamed: re.Pattern[str]
    ) -> None:
        self._app = app
        self._streamed = streamed
        self._max_bytes = max_bytes
        self._pace = pace
        # A body may take a hundred times its size while it is checked.
        self._checking = asyncio.Semaphore(_CHECKED_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a bad body; pass a good one on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif self._streamed.fullmatch(f"{scope['method']} {scope['path']}"):
            with Incoming(scope, receive, self._pace, is_streamed=True) as incoming:
                await self._app(scope, incoming.receive, send)
        elif _has_none(scope):
            # What counts a body, and times it, costs as much as all else here.
            await self._pass_on(scope, receive, receive, send)
        else:
            with Incoming(scope, receive, self._pace, is_streamed=False) as incoming:
                scope.setdefault("state", {})["incoming"] = incoming
                await self._pass_on(scope, incoming.receive, receive, send)

    async def _pass_on(self, scope: Scope, incoming: Receive, receive: Receive, send: Send) -> None:
        try:
            body = await self._read(scope, incoming)
            if body:
                # Read once: the route takes it from here.
                scope.setdefault("state", {})["json"] = await self._check(scope, body)
        except ServiceError as error:
            await render(await charged(scope, error))(scope, receive, send)
            return
        if body:
            # The framework shall read it as what it was checked to be, however that was declared.
            MutableHeaders(scope=scope)["content-type"] = "application/json"
        replayed = _replay(body, receive)
        # The route has it from there, and keeps it no longer than it needs it.
        del body
        try:
            await self._app(scope, replayed, send)
        finally:
            # A connection that has ended keeps its last request until garbage is collected.
            scope.get("state", {}).pop("json", None)

    async def _check(self, scope: Scope, body: bytes) -> dict[str, Any]:
        declared = header(scope, b"content-type")
        content_type = None if declared is None else declared.decode("latin-1")
        if len(body) <= LONG_BYTES:
            return read_json(body, content_type)
        if len(body) <= _LARGE_BYTES:
            return await asyncio.to_thread(read_json, body, content_type)
        # Before it costs anything; a request that is admitted pays for its method as well.
        await _charge(scope, min(MAX_COST, ceil(len(body) / _UNIT_BYTES)))
        async with self._checking:
            return await asyncio.to_thread(read_json, body, content_type)

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        declared = header(scope, b"content-length") or b"0"
        if declared.isdigit() and int(declared) > self._max_bytes:
            self._refuse_length()
        body = BytesIO()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                # What came is not what was asked; nobody is there to read the answer.
                raise InvalidArgument(_BROKEN_OFF, Reason.BODY_NOT_JSON)
            body.write(message.get("body", b""))
            if body.tell() > self._max_bytes:
                self._refuse_length()
            if not message.get("more_body"):
                # Without a copy, which would hold up the loop and take as much again.
                return body.getvalue()

    def _refuse_length(self) -> NoReturn:
        raise ResourceExhausted(
            f"The body is longer than {self._max_bytes} bytes.", Reason.BODY_TOO_LARGE, http=413
        )


def _has_none(scope: Scope) -> bool:
    """Say whether a request has no body."""
    return (header(scope, b"content-length") or b"0") == b"0" and (
        header(scope, b"transfer-encoding") is None
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
    """Keep the bytes of a body no longer, and count it no more: it was read as what it means."""
    # The framework only looks whether there are any.
    request._body = b"{}"  # noqa: SLF001 - where the framework keeps it
    del request.state.json
    incoming: Incoming | None = getattr(request.state, "incoming", None)
    if incoming is not None:
        incoming.release()


async def _charge(scope: Scope, cost: int) -> None:
    """Charge what is done before the request is admitted; what needs no key is free.

    Raises:
        ResourceExhausted: the key has not that much left.
    """
    caller = scope.get("state", {}).get("caller")
    if caller is not None:
        limits: Limits = scope["app"].state.gate.limits
        await limits.charge(caller, None, cost)


async def charged(scope: Scope, error: ServiceError) -> ServiceError:
    """Return what a body is refused with, or that its key has nothing left to be told it with."""
    try:
        await _charge(scope, 1)
    except ServiceError as refusal:
        refusal.ends_connection = error.ends_connection
        return refusal
    return error


def read_json(body: bytes, content_type: str | None) -> dict[str, Any]:
    """Return the JSON object that a body is, of what can be stored.

    Raises:
        InvalidArgument: it is none; with status 415 where it is declared as something else.
    """
    media = media_type(content_type)
    if media != "application/json" and not media.endswith("+json"):
        raise InvalidArgument(
            "Content-Type: must be application/json.", Reason.CONTENT_TYPE_NOT_JSON, http=415
        )
    return read_object(body, "body")


def media_type(content_type: str | None) -> str:
    """Return as what a body is declared, without parameters; undeclared, it is JSON."""
    return (content_type or "application/json").partition(";")[0].strip().lower()


async def pieces(request: Request) -> AsyncIterator[bytes]:
    """Yield a body as it comes, for a route whose path `_STREAMED` has.

    Nothing bounds how long it is, but how slowly it may come.

    Raises:
        DeadlineExceeded: it comes too slowly.
        InvalidArgument: it was broken off.
        ResourceExhausted: the key has too many bodies open.
    """
    try:
        async for piece in request.stream():
            if piece:
                yield piece
    except ClientDisconnect:
        raise InvalidArgument(_BROKEN_OFF, Reason.BODY_NOT_JSON) from None
