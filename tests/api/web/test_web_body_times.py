"""Bodies that come too slowly, or not to their end."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

from app.core.errors import Reason
from app.web.body import JsonBody
from tests.support.asgi import ADMIN
from tests.support.bank import ok
from tests.support.engines import COLLECTION
from tests.support.steady import steady_time

_PIECE: Message = {"type": "http.request", "body": b'{"a": ', "more_body": True}
_END: Message = {"type": "http.request", "body": b"1}", "more_body": False}
_GONE: Message = {"type": "http.disconnect"}
_PUT_OFF = 0.01


@pytest.fixture(autouse=True)
async def steady() -> AsyncIterator[None]:
    """Times that a slow machine does not use up."""
    async with steady_time():
        yield


class _Client:
    """Sends messages, and then nothing more."""

    def __init__(self, *messages: Message, pause_seconds: float = 0) -> None:
        self._messages = list(messages)
        self._pause_seconds = pause_seconds
        self.answers: list[Message] = []

    async def receive(self) -> Message:
        if not self._messages:
            await asyncio.Event().wait()
        await asyncio.sleep(self._pause_seconds)
        return self._messages.pop(0)

    async def send(self, message: Message) -> None:
        self.answers.append(message)

    @property
    def status(self) -> int:
        found: int = self.answers[0]["status"]
        return found


def _scope(path: str = "/", length: bytes = b"8", **fields: Any) -> Scope:
    headers = [ADMIN, (b"host", b"test"), (b"content-length", length)]
    return {"type": "http", "method": "POST", "path": path, "headers": headers, **fields}


async def _echo(_: Scope, receive: Receive, send: Send) -> None:
    message = await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": message["body"]})


async def test_a_body_that_does_not_come_is_answered_with_408() -> None:
    client = _Client(_PIECE)
    await JsonBody(_echo, 100, _PUT_OFF)(_scope(), client.receive, client.send)
    assert client.status == 408
    assert (b"connection", b"close") in client.answers[0]["headers"]
    assert Reason.REQUEST_TOO_SLOW.encode() in client.answers[1]["body"]


async def test_the_time_is_that_of_the_whole_body() -> None:
    """Each piece comes soon enough after the one before."""
    client = _Client(*[{**_PIECE, "body": b" "}] * 50, pause_seconds=0.05)
    await JsonBody(_echo, 100, 0.2)(_scope(length=b"50"), client.receive, client.send)
    assert client.status == 408


async def test_the_time_is_up_once_the_body_is_there() -> None:
    async def slow(_: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(10 * _PUT_OFF)
        await _echo(_, receive, send)

    client = _Client(_PIECE, _END)
    await JsonBody(slow, 100, _PUT_OFF)(_scope(), client.receive, client.send)
    assert client.status == 200
    assert client.answers[1]["body"] == b'{"a": 1}'


@pytest.mark.parametrize("messages", [[_GONE], [_PIECE, _GONE], [{**_PIECE, "body": b""}, _GONE]])
async def test_a_request_whose_body_was_broken_off_is_not_passed_on(
    messages: list[Message],
) -> None:
    client = _Client(*messages)
    await JsonBody(_echo, 100, 60)(_scope(), client.receive, client.send)
    assert client.status == 400


async def test_an_engine_whose_configuration_was_broken_off_is_not_created(
    app: FastAPI, client: httpx.AsyncClient
) -> None:
    """Its body may be left out: one that was lost must not be taken for none."""
    before = ok(await client.get(COLLECTION))
    path = COLLECTION.removeprefix("http://test")
    scope = _scope(path, raw_path=path.encode(), query_string=b"", root_path="", scheme="http")
    sender = _Client(_PIECE, _GONE)
    await app(scope, sender.receive, sender.send)
    assert sender.status == 400
    assert ok(await client.get(COLLECTION)) == before
