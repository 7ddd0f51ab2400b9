"""Reads JSON bodies: bounded, in time, declared as JSON, an object, of what can be stored only."""

import asyncio
import json
from math import ceil
from typing import Any, NoReturn

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.errors import (
    DeadlineExceeded,
    InvalidArgument,
    Reason,
    ResourceExhausted,
    ServiceError,
)
from app.core.limits import MAX_COST, Limits
from app.web.errors import render
from app.web.headers import header

_MAX_DEPTH = 100
"""As protocol buffers have it."""
_MAX_VALUES = 100_000
"""Keys and values, at any depth: what a request costs to check grows with them, not with bytes."""
_LARGE_BYTES = 256 * 1024
"""A longer body is checked beside the event loop."""
_CHECKED_AT_ONCE = 2
_UNIT_BYTES = 512 * 1024
"""What a unit of the key's rate pays for, of such a body."""


class JsonBody:
    """ASGI middleware: checks the body of every request that has one, and passes it on whole."""

    def __init__(self, app: ASGIApp, max_bytes: int, seconds: float) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._seconds = seconds
        # A body may take a hundred times its size while it is checked.
        self._checking = asyncio.Semaphore(_CHECKED_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a bad body; pass a good one on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await self._read_in_time(scope, receive)
            if body:
                await self._check(scope, body)
        except ServiceError as error:
            await render(await _charged(scope, error))(scope, receive, send)
            return
        if body:
            # The framework shall read it as what it was checked to be, however that was declared.
            MutableHeaders(scope=scope)["content-type"] = "application/json"
        await self._app(scope, _replay(body, receive), send)

    async def _check(self, scope: Scope, body: bytes) -> None:
        declared = header(scope, b"content-type")
        content_type = None if declared is None else declared.decode("latin-1")
        if len(body) <= _LARGE_BYTES:
            check_json(body, content_type)
            return
        # Before it costs anything; a request that is admitted pays for its method as well.
        await _charge(scope, min(MAX_COST, ceil(len(body) / _UNIT_BYTES)))
        async with self._checking:
            await asyncio.to_thread(check_json, body, content_type)

    async def _read_in_time(self, scope: Scope, receive: Receive) -> bytes:
        declared = header(scope, b"content-length") or b"0"
        if declared.isdigit() and int(declared) > self._max_bytes:
            self._refuse_length()
        if declared == b"0" and header(scope, b"transfer-encoding") is None:
            # There is none to wait for, and the clock below costs as much as all else here.
            return await self._read(receive)
        try:
            # Nothing but the client is waited for here: no statement can be broken off.
            async with asyncio.timeout(self._seconds):
                return await self._read(receive)
        except TimeoutError:
            message = f"The body took longer than {self._seconds:g} seconds."
            raise DeadlineExceeded(message, Reason.REQUEST_TOO_SLOW, http=408) from None

    async def _read(self, receive: Receive) -> bytes:
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                # What came is not what was asked; nobody is there to read the answer.
                _refuse("was broken off.")
            body += message.get("body", b"")
            if len(body) > self._max_bytes:
                self._refuse_length()
            if not message.get("more_body"):
                return bytes(body)

    def _refuse_length(self) -> NoReturn:
        raise ResourceExhausted(
            f"The body is longer than {self._max_bytes} bytes.", Reason.BODY_TOO_LARGE, http=413
        )


def _replay(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def replayed() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


async def _charge(scope: Scope, cost: int) -> None:
    """Charge what is done before the request is admitted; what needs no key is free.

    Raises:
        ResourceExhausted: the key has not that much left.
    """
    caller = scope.get("state", {}).get("caller")
    if caller is not None:
        limits: Limits = scope["app"].state.gate.limits
        await limits.charge(caller, None, cost)


async def _charged(scope: Scope, error: ServiceError) -> ServiceError:
    """Return what a body is refused with, or that its key has nothing left to be told it with."""
    try:
        await _charge(scope, 1)
    except ServiceError as refusal:
        return refusal
    return error


def check_json(body: bytes, content_type: str | None) -> None:
    """Make sure that a body, if there is one, is a JSON object that can be stored.

    Raises:
        InvalidArgument: it is not; with status 415 where it is declared as something else.
    """
    if not body:
        return
    media = (content_type or "application/json").partition(";")[0].strip().lower()
    if media != "application/json" and not media.endswith("+json"):
        raise InvalidArgument(
            "Content-Type: must be application/json.", Reason.CONTENT_TYPE_NOT_JSON, http=415
        )
    value = _parse(body)
    if not isinstance(value, dict):
        _refuse("must be a JSON object.")
    _check_values(value)


def _parse(body: bytes) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        _refuse("must be UTF-8.")
    except json.JSONDecodeError as error:
        _refuse(f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.")
    except RecursionError:
        _refuse(f"must not be nested deeper than {_MAX_DEPTH}.")
    except ValueError:
        # Python refuses to read a number of thousands of digits.
        _refuse("holds a number that is too long.")


def _refuse_constant(name: str) -> NoReturn:
    _refuse(f"holds {name}, which is not JSON.")


def _check_values(value: object) -> None:
    level: list[object] = [value]
    count = 0
    for _ in range(_MAX_DEPTH):
        count += len(level)
        if count > _MAX_VALUES:
            _refuse(f"must not hold more than {_MAX_VALUES} keys and values.")
        level = [below for item in level for below in _checked(item)]
        if not level:
            return
    _refuse(f"must not be nested deeper than {_MAX_DEPTH}.")


def _checked(item: object) -> list[object]:
    """Refuse what cannot be stored; return the keys and values right inside the item."""
    if isinstance(item, dict):
        return [*item.keys(), *item.values()]
    if isinstance(item, list):
        return item
    if isinstance(item, str):
        _check_text(item)
    elif isinstance(item, float) and item in _INFINITIES:
        _refuse("holds a number that is out of range.")
    return []


_INFINITIES = frozenset({float("inf"), float("-inf")})


def _check_text(text: str) -> None:
    if "\x00" in text:
        _refuse("holds the character U+0000, which cannot be stored.")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        _refuse("holds half of a surrogate pair, which is not text.")


def _refuse(description: str) -> NoReturn:
    raise InvalidArgument(f"The body {description}", Reason.BODY_NOT_JSON)
