"""Bodies that come too slowly, or not to their end."""

import asyncio
import re
from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

from app.kernel.errors import Reason
from app.web.body import BodyPace, BodyRoutes, JsonBody
from tests.support.bank import ok
from tests.support.engines import COLLECTION
from tests.support.senders import GONE, Sender, piece, scope_of
from tests.support.steady import steady_time

_PIECE = piece(b'{"a": ')
_END = piece(b"1}", is_last=True)
_PUT_OFF = 0.01
_MIN_BYTES = 100


@pytest.fixture(autouse=True)
async def steady() -> AsyncIterator[None]:
    """Times that a slow machine does not use up."""
    async with steady_time():
        yield


async def _echo(_: Scope, receive: Receive, send: Send) -> None:
    message = await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": message["body"]})


def _json_body(seconds: float, app: object = _echo, min_bytes: int = 0) -> JsonBody:
    pace = BodyPace(seconds, min_bytes)
    streamed = BodyRoutes(re.compile("PUT .*/artifacts/.*|POST .*:import"))
    return JsonBody(app, 100_000, pace, streamed)  # type: ignore[arg-type]  # one of these


@pytest.fixture
def looked_at_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a second of a body last a hundredth of it."""
    monkeypatch.setattr("app.web.body.LOOK_SECONDS", 0.01)


async def test_a_body_that_does_not_come_is_answered_with_408(app: FastAPI) -> None:
    client = Sender(_PIECE)
    await _json_body(_PUT_OFF)(scope_of(app=app), client.receive, client.send)
    assert client.status == 408
    assert client.headers[b"connection"] == b"close"
    assert Reason.REQUEST_TOO_SLOW.encode() in client.body


async def test_the_time_is_that_of_the_whole_body(app: FastAPI) -> None:
    """Each piece comes soon enough after the one before."""
    client = Sender(*[piece(b" ")] * 50, pause_seconds=0.05)
    await _json_body(0.2)(scope_of(app=app, length=50), client.receive, client.send)
    assert client.status == 408


async def test_the_time_is_up_once_the_body_is_there(app: FastAPI) -> None:
    seconds = 0.5

    async def slow(_: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(2 * seconds)
        await _echo(_, receive, send)

    client = Sender(_PIECE, _END)
    await _json_body(seconds, slow)(scope_of(app=app), client.receive, client.send)
    assert client.status == 200
    assert client.body == b'{"a": 1}'


@pytest.mark.usefixtures("looked_at_often")
@pytest.mark.parametrize("length", [2_000, None])
async def test_a_body_that_drips_is_answered_with_408_long_before_its_time_is_up(
    app: FastAPI, length: int | None
) -> None:
    client = Sender(*[piece(b" ")] * 2_000, pause_seconds=0.01)
    scope = scope_of(app=app, length=length)
    await _json_body(60, min_bytes=_MIN_BYTES)(scope, client.receive, client.send)
    assert client.status == 408
    assert client.headers[b"connection"] == b"close"
    assert b"more slowly than 100 bytes a second" in client.body


@pytest.mark.usefixtures("looked_at_often")
async def test_a_body_that_stops_after_a_good_beginning_is_answered_with_408(app: FastAPI) -> None:
    client = Sender(piece(b" " * 20 * _MIN_BYTES))
    scope = scope_of(app=app, length=50_000)
    await _json_body(60, min_bytes=_MIN_BYTES)(scope, client.receive, client.send)
    assert client.status == 408


@pytest.mark.usefixtures("looked_at_often")
async def test_a_slow_client_that_keeps_its_pace_is_served(app: FastAPI) -> None:
    pieces = [piece(b" " * 5 * _MIN_BYTES)] * 50
    client = Sender(*pieces, _PIECE, _END, pause_seconds=0.01)
    scope = scope_of(app=app, length=50 * 5 * _MIN_BYTES + 8)
    await _json_body(60, min_bytes=_MIN_BYTES)(scope, client.receive, client.send)
    assert client.status == 200


@pytest.mark.parametrize("messages", [[GONE], [_PIECE, GONE], [{**_PIECE, "body": b""}, GONE]])
async def test_a_request_whose_body_was_broken_off_is_not_passed_on(
    app: FastAPI, messages: list[Message]
) -> None:
    client = Sender(*messages)
    await _json_body(60)(scope_of(app=app), client.receive, client.send)
    assert client.status == 400


async def test_an_engine_whose_configuration_was_broken_off_is_not_created(
    app: FastAPI, client: httpx.AsyncClient
) -> None:
    """Its body may be left out: one that was lost must not be taken for none."""
    before = ok(await client.get(COLLECTION))
    sender = Sender(_PIECE, GONE)
    scope = scope_of(COLLECTION.removeprefix("http://test"))
    await app(scope, sender.receive, sender.send)
    assert sender.status == 400
    assert ok(await client.get(COLLECTION)) == before
