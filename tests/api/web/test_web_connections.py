"""The server's connections, with the smallest application behind them.

What the whole service does with slow clients is in tests/faults/test_slow_clients.py.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
import uvicorn
from starlette.types import Message, Receive, Scope, Send

from app.adapters.uvicorn.connections import CLOSED, Bounds
from app.adapters.uvicorn.room import is_reserved
from app.adapters.uvicorn.server import Server, connections
from app.kernel.errors import Reason
from app.web.errors import render_last
from tests.support.sockets import SOON_SECONDS, Answer, Peer, connected, request
from tests.support.steady import steady_time

_SHORT = 0.3
_LONG = 60.0
_HEADER_BYTES = 8 * 1024
_RELAXED = Bounds(
    idle_seconds=_LONG,
    header_seconds=_LONG,
    body_seconds=_LONG,
    send_seconds=_LONG,
    max_header_bytes=_HEADER_BYTES,
    max_connections=100,
    reserved_connections=0,
)
_EARLY: dict[str, list[tuple[bytes, bytes]]] = {
    "/early": [],
    "/refused": [(b"connection", b"close")],
}
"""Paths whose body is not read, and the headers of the answer."""
_NOT_HTTP = (400, Reason.REQUEST_NOT_HTTP)
_TOO_LARGE = (431, Reason.HEADERS_TOO_LARGE)
_TOO_SLOW = (408, Reason.REQUEST_TOO_SLOW)


@dataclass
class _App:
    """Answers with what it was sent, or with its path; some paths are special."""

    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    """Set before `/wait` answers."""
    asked: list[str] = field(default_factory=list)
    has_bodies: bool = False
    """Whether somebody has many bodies under way, which are not slow."""
    given_up: list[str] = field(default_factory=list)
    """What was asked for, to make room."""

    def give_up_body(self, *, slow: bool) -> bool:
        self.given_up.append("slow" if slow else "any")
        return self.has_bodies and not slow

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked.append(scope["path"])
        if scope["path"] in _EARLY:
            told = b"reserved" if is_reserved(scope) else b"early"
            await _answer(send, told, _EARLY[scope["path"]])
            return
        body = await self._body(receive)
        if body is None:
            return
        match scope["path"]:
            case "/pieces":
                await _send_pieces(send)
                return
            case "/large":
                body = b"x" * 20_000_000
            case "/names":
                body = b" ".join(sorted(name for name, _ in scope["headers"]))
            case "/wait":
                await self.go_on.wait()
            case "/until-gone":
                assert (await receive())["type"] == "http.disconnect"
                self.asked.append("gone")
                return
            case _:
                pass
        await _answer(send, body or scope["path"].encode())

    async def _body(self, receive: Receive) -> bytes | None:
        body = b""
        message: Message = {"more_body": True}
        while message.get("more_body"):
            message = await receive()
            if message["type"] == "http.disconnect":
                self.asked.append("gone")
                return None
            body += message["body"]
        return body


async def _send_pieces(send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for number in range(4):
        await asyncio.sleep(_SHORT)
        piece = str(number).encode()
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"."})


async def _answer(send: Send, body: bytes, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def app() -> _App:
    return _App()


@pytest.fixture(autouse=True)
async def steady() -> AsyncIterator[None]:
    """Times that a slow machine does not use up."""
    async with steady_time():
        yield


@asynccontextmanager
async def _serving(app: _App, **bounds: float) -> AsyncIterator[int]:
    """Serve on a free port, which is given."""
    config = uvicorn.Config(
        app,
        http=connections(replace(_RELAXED, **bounds), app.give_up_body, render_last),  # type: ignore[arg-type]  # of any field
        ws="none",
        log_config=None,
        lifespan="off",
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    server = Server(config)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        task = asyncio.create_task(server.serve([bound]))
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event of it
            await asyncio.sleep(0.01)
        try:
            yield bound.getsockname()[1]
        finally:
            app.go_on.set()
            server.should_exit = True
            await task


def _closed(reason: str) -> float:
    """Return how many connections were closed for a reason."""
    return float(CLOSED.labels(reason)._value.get())


async def _told(peer: Peer) -> tuple[int, Reason]:
    """Return the last answer of a connection, which then is closed."""
    answer = await peer.answer()
    assert answer.headers["connection"] == "close"
    assert await peer.is_closed()
    return answer.status, Reason(answer.reason)


async def _served(port: int, path: str = "/good") -> Answer:
    async with connected(port) as peer:
        await peer.send(request(path))
        return await peer.answer()


# Times


async def test_who_never_sends_a_byte_is_disconnected(app: _App) -> None:
    before = _closed("silent")
    async with _serving(app, header_seconds=_SHORT) as port, connected(port) as peer:
        assert await peer.is_closed()
    assert _closed("silent") == before + 1


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (b"GET / HTTP/1.1\r\n", b"x: y\r\n"),
        (b"GET / HTTP/1.1\r\nx: ", b"y"),
        (b"GET /", b"a"),
        (b"", b"\r\n"),
        (request("/good"), b"\r\n"),
        (request("/good") + b"GET", b" "),
    ],
)
async def test_headers_that_drip_in_are_answered_with_408(
    app: _App, first: bytes, then: bytes
) -> None:
    before = _closed("slow_headers")
    async with _serving(app, header_seconds=_SHORT) as port, connected(port) as peer:
        await peer.send(first)
        if b"/good" in first:
            assert (await peer.answer()).body == b"/good"
        dripping = asyncio.create_task(peer.drip(then))
        assert await _told(peer) == _TOO_SLOW
        await dripping
    assert _closed("slow_headers") == before + 1


async def test_who_asks_nothing_more_is_disconnected(app: _App) -> None:
    async with _serving(app, idle_seconds=_SHORT) as port, connected(port) as peer:
        for _ in range(3):
            await peer.send(request("/good"))
            assert (await peer.answer()).status == 200
        assert await peer.is_closed()


async def test_a_body_that_nobody_reads_any_more_is_not_awaited_for_ever(app: _App) -> None:
    before = _closed("slow_body")
    async with _serving(app, body_seconds=_SHORT) as port, connected(port) as peer:
        await peer.send(request("/early", "Content-Length: 1000", method="POST"))
        assert (await peer.answer()).body == b"early"
        await peer.drip(b"x")
        assert await peer.is_closed()
    assert _closed("slow_body") == before + 1


async def test_a_request_that_is_under_way_is_not_cut_off(app: _App) -> None:
    times = dict.fromkeys(["idle_seconds", "header_seconds", "body_seconds", "send_seconds"], 0.1)
    async with _serving(app, **times) as port, connected(port) as peer:
        await peer.send(request("/wait"))
        await asyncio.sleep(10 * 0.1)
        app.go_on.set()
        assert (await peer.answer()).body == b"/wait"


async def test_a_request_that_has_begun_behind_another_has_its_time_after_it(app: _App) -> None:
    second = request("/good")
    async with _serving(app, header_seconds=2) as port, connected(port) as peer:
        await peer.send(request("/wait") + second[:10])
        await asyncio.sleep(3)
        app.go_on.set()
        assert (await peer.answer()).body == b"/wait"
        await peer.send(second[10:])
        assert (await peer.answer()).body == b"/good"


async def test_an_answer_in_pieces_is_not_cut_off_between_them(app: _App) -> None:
    times = dict.fromkeys(["idle_seconds", "header_seconds", "body_seconds", "send_seconds"], 0.1)
    async with _serving(app, **times) as port, connected(port) as peer:
        await peer.send(request("/pieces"))
        assert (await peer.rest()).endswith(b"1\r\n3\r\n1\r\n.\r\n0\r\n\r\n")


async def test_a_slow_but_steady_client_has_all_of_its_time(app: _App) -> None:
    times = {"header_seconds": 5, "idle_seconds": 0.01}
    async with _serving(app, **times) as port, connected(port) as peer:
        for byte in request("/echo", method="POST", body=b"hello"):
            await peer.send(bytes([byte]))
            await asyncio.sleep(0.02)
        assert (await peer.answer()).body == b"hello"


# Answers that are not taken


@pytest.mark.parametrize("headers", [(), ("Connection: close",)])
async def test_who_does_not_take_an_answer_is_disconnected(
    app: _App, headers: tuple[str, ...]
) -> None:
    before = _closed("answer_not_taken")
    async with (
        _serving(app, send_seconds=_SHORT) as port,
        connected(port, 4096) as peer,
        asyncio.timeout(SOON_SECONDS),
    ):
        peer.reader._transport.pause_reading()  # type: ignore[attr-defined]  # of the stream
        await peer.send(request("/large", *headers))
        while _closed("answer_not_taken") == before:
            assert (await _served(port)).status == 200
            await asyncio.sleep(0.05)
        peer.reader._transport.resume_reading()  # type: ignore[attr-defined]  # as above
        assert len(await peer.rest()) < 20_000_000


async def test_who_takes_an_answer_slowly_has_all_of_it(app: _App) -> None:
    async with _serving(app, send_seconds=_SHORT) as port, connected(port, 65_536) as peer:
        await peer.send(request("/large", "Connection: close"))
        taken = 0
        while piece := await peer.reader.read(500_000):
            taken += len(piece)
            await asyncio.sleep(0.05)
        assert taken > 20_000_000


# What is no request


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/0.9\r\nhost: test\r\n\r\n",
        b"POST / HTTP/2.0\r\nhost: test\r\ncontent-length: 0\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET http://test/ HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n",
        b"GET / HTTP/1.0\r\nhost: test\r\nhost: test\r\n\r\n",
        request("/", "Host: test"),
        request("/", "Host:"),
        request("/", "Host: other"),
        request("http://other/"),
        request("http://test:8000/"),
        b"GET /\xff HTTP/1.1\r\nhost: \x00\r\n\r\n",
        b"CONNECT other:443 HTTP/1.1\r\nhost: other:443\r\n\r\n",
        request("/", "Content-Length: 1", "Content-Length: 2", method="POST"),
        request("/", "Content-Length: 5", "Transfer-Encoding: chunked", method="POST"),
    ],
)
async def test_what_is_no_request_is_answered_with_400(app: _App, sent: bytes) -> None:
    before = _closed("not_http")
    async with _serving(app) as port, connected(port) as peer:
        await peer.send(sent)
        answer = await peer.answer()
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert (answer.status, answer.reason) == _NOT_HTTP
        assert await peer.is_closed()
    assert app.asked == []
    assert _closed("not_http") == before + 1


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /good HTTP/1.0\r\n\r\n",
        b"GET /good HTTP/1.0\r\nhost: test\r\n\r\n",
        request("/good"),
        request("http://test/good"),
        request("/good?to=http://other/"),
    ],
)
async def test_a_request_names_one_host(app: _App, sent: bytes) -> None:
    async with _serving(app) as port, connected(port) as peer:
        await peer.send(sent)
        assert (await peer.answer()).body == b"/good"


async def test_a_request_before_garbage_has_its_answer(app: _App) -> None:
    async with _serving(app) as port, connected(port) as peer:
        await peer.send(request("/wait") + b"\x00garbage\r\n\r\n" * 1000)
        await peer.send(b"more of it")
        app.go_on.set()
        answer = await peer.answer()
        assert (answer.body, await peer.is_closed()) == (b"/wait", True)
    assert app.asked == ["/wait"]


async def test_a_request_with_a_broken_body_is_not_taken_for_a_whole_one(app: _App) -> None:
    async with _serving(app) as port, connected(port) as peer:
        await peer.send(request("/wait", "Transfer-Encoding: chunked", method="POST"))
        await peer.send(b"1\r\nx\r\nnonsense\r\n")
        assert await _told(peer) == _NOT_HTTP
    async with _serving(app) as port, connected(port) as peer:
        await peer.send(request("/wait", "Transfer-Encoding: gzip", method="POST"))
        assert await _told(peer) == _NOT_HTTP
    assert app.asked == ["/wait", "gone"] * 2


async def test_a_request_that_has_its_answer_gets_no_second_one(app: _App) -> None:
    async with _serving(app) as port, connected(port) as peer:
        await peer.send(request("/early", "Transfer-Encoding: chunked", method="POST"))
        assert (await peer.answer()).body == b"early"
        await peer.send(b"nonsense\r\n")
        assert await peer.is_closed()


async def test_another_protocol_is_not_spoken_and_what_follows_is_not_read(app: _App) -> None:
    upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x")
    async with _serving(app) as port, connected(port) as peer:
        await peer.send(request("/good", *upgrade))
        assert (await peer.answer()).headers["connection"] == "close"
        await peer.send(request("/hidden"))
        assert await peer.is_closed()
    assert app.asked == ["/good"]


async def test_a_body_beside_another_protocol_is_refused_and_not_taken_for_a_request(
    app: _App,
) -> None:
    upgrade = ("Connection: Upgrade", "Upgrade: h2c")
    async with _serving(app) as port, connected(port) as peer:
        await peer.send(request("/good", *upgrade, method="POST", body=request("/hidden")))
        assert await _told(peer) == _NOT_HTTP
    assert app.asked == []


async def test_a_request_learns_that_its_client_has_gone_though_others_wait_behind_it(
    app: _App,
) -> None:
    async with _serving(app) as port, asyncio.timeout(SOON_SECONDS):
        async with connected(port) as peer:
            await peer.send(request("/until-gone") + request("/good"))
        while "gone" not in app.asked:  # noqa: ASYNC110 - a look is enough
            await asyncio.sleep(0.01)
    assert app.asked == ["/until-gone", "gone"]


async def test_trailers_are_no_headers(app: _App) -> None:
    """What stands before this service checks headers, and may not look at trailers."""
    sent = request("/names", "Transfer-Encoding: chunked", method="POST")
    async with _serving(app) as port, connected(port) as peer:
        await peer.send(sent + b"0\r\nx-goog-api-key: k\r\n\r\n")
        assert (await peer.answer()).body == b"host transfer-encoding"
        await peer.send(request("/good"))
        assert (await peer.answer()).body == b"/good"


# Lengths


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nx: " + b"y" * 100_000,
        b"GET /" + b"a" * 100_000,
        b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 20_000,
        b"\r\n" * 50_000,
        request("/", "x: " + "y" * _HEADER_BYTES),
        request("/" + "a" * _HEADER_BYTES),
    ],
)
async def test_headers_that_are_too_long_are_answered_with_431(app: _App, sent: bytes) -> None:
    before = _closed("large_headers")
    async with _serving(app) as port, connected(port) as peer:
        await peer.send(sent)
        assert await _told(peer) == _TOO_LARGE
        assert (await _served(port)).status == 200
    assert app.asked == ["/good"]
    assert _closed("large_headers") == before + 1


async def test_headers_just_short_enough_are_taken_with_a_long_body_behind(app: _App) -> None:
    sent = request("/", "x: " + "y" * (_HEADER_BYTES - 200), method="POST", body=b"z" * 500_000)
    async with _serving(app) as port, connected(port) as peer:
        for _ in range(3):
            await peer.send(sent)
            assert len((await peer.answer()).body) == 500_000


async def test_who_goes_on_sending_can_still_read_why_not(app: _App) -> None:
    async with _serving(app) as port, connected(port) as peer:
        sending = asyncio.create_task(peer.drip(b"GET / HTTP/1.1\r\nx: " + b"y" * 1_000_000, 0))
        await asyncio.sleep(_SHORT)
        assert await _told(peer) == _TOO_LARGE
        await sending


@pytest.mark.parametrize("endless", [b"0\r\nx: " + b"y" * 100_000, b"5;x=" + b"y" * 100_000])
async def test_what_is_endless_beside_a_body_ends_the_request(app: _App, endless: bytes) -> None:
    async with _serving(app) as port, connected(port) as peer:
        await peer.send(request("/good", "Transfer-Encoding: chunked", method="POST"))
        await peer.send(b"1\r\nx\r\n")
        await peer.send(endless)
        assert await _told(peer) == _TOO_LARGE
    assert app.asked == ["/good", "gone"]


async def test_few_requests_wait_on_one_connection(app: _App) -> None:
    async with _serving(app) as port, connected(port) as peer:
        await peer.send(request("/wait") * 30)
        app.go_on.set()
        assert [(await peer.answer()).status for _ in range(30)] == [200] * 30
        app.go_on.clear()
        await peer.send(request("/wait") * 10_000)
        app.go_on.set()
        answers = (await peer.rest()).count(b"HTTP/1.1 200")
        assert 0 < answers < 50


# Numbers


async def test_who_asks_nothing_makes_room_for_who_does(app: _App) -> None:
    before = _closed("made_room")
    async with _serving(app, max_connections=5) as port, AsyncExitStack() as stack:
        busy = await stack.enter_async_context(connected(port))
        await busy.send(request("/wait"))
        silent = [await stack.enter_async_context(connected(port)) for _ in range(20)]
        assert (await _served(port)).status == 200
        assert all([await peer.is_closed() for peer in silent[:16]])
        app.go_on.set()
        assert (await busy.answer()).body == b"/wait"
    assert _closed("made_room") > before


async def test_where_all_are_being_served_another_is_told_to_come_back(app: _App) -> None:
    async with _serving(app, max_connections=3) as port, AsyncExitStack() as stack:
        peers = [await stack.enter_async_context(connected(port)) for _ in range(3)]
        for peer in peers:
            await peer.send(request("/wait"))
        while len(app.asked) < 3:  # noqa: ASYNC110 - a look is enough
            await asyncio.sleep(0.01)
        async with connected(port) as another:
            answer = await another.answer()
            assert (answer.status, answer.reason) == (503, Reason.TOO_MANY_CONNECTIONS)
            assert answer.headers["retry-after"] == "1"
            assert await another.is_closed()
        app.go_on.set()
        assert [(await peer.answer()).status for peer in peers] == [200] * 3
        assert (await _served(port)).status == 200


@asynccontextmanager
async def _busy(app: _App, port: int, count: int) -> AsyncIterator[list[Peer]]:
    """Have so many requests under way while the block runs."""
    async with AsyncExitStack() as stack:
        peers = []
        for number in range(count):
            peers.append(await stack.enter_async_context(connected(port)))
            await peers[-1].send(request("/wait"))
            while app.asked.count("/wait") <= number:  # noqa: ASYNC110 - a look is enough
                await asyncio.sleep(0.01)
        yield peers
        app.go_on.set()
        assert [(await peer.answer()).status for peer in peers] == [200] * count


async def test_the_reserve_serves_one_request_of_a_connection_and_says_so(app: _App) -> None:
    async with (
        _serving(app, max_connections=5, reserved_connections=2) as port,
        _busy(app, port, 3),
    ):
        for _ in range(5):
            async with connected(port) as peer:
                await peer.send(request("/early") + request("/hidden"))
                answer = await peer.answer()
                assert (answer.body, answer.headers["connection"]) == (b"reserved", "close")
                assert await peer.is_closed()
    assert "/hidden" not in app.asked


async def test_where_there_is_room_nothing_comes_from_the_reserve(app: _App) -> None:
    async with (
        _serving(app, max_connections=5, reserved_connections=2) as port,
        _busy(app, port, 2),
        connected(port) as peer,
    ):
        for _ in range(3):
            await peer.send(request("/early"))
            assert (await peer.answer()).body == b"early"


async def test_who_is_silent_does_not_keep_the_reserve_from_others(
    app: _App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.adapters.uvicorn.connections.RESERVED_HEADER_SECONDS", _SHORT)
    async with (
        _serving(app, max_connections=3, reserved_connections=2) as port,
        _busy(app, port, 1),
        AsyncExitStack() as stack,
    ):
        silent = [await stack.enter_async_context(connected(port)) for _ in range(4)]
        assert (await _served(port, "/early")).body == b"reserved"
        assert all([await peer.is_closed() for peer in silent])


async def test_where_the_reserve_is_busy_too_another_is_told_to_come_back(app: _App) -> None:
    async with (
        _serving(app, max_connections=3, reserved_connections=1) as port,
        _busy(app, port, 3),
        connected(port) as another,
    ):
        assert await _told(another) == (503, Reason.TOO_MANY_CONNECTIONS)


async def test_a_body_that_is_given_up_makes_room(app: _App) -> None:
    app.has_bodies = True
    async with (
        _serving(app, max_connections=3, reserved_connections=1) as port,
        _busy(app, port, 2),
    ):
        assert (await _served(port, "/early")).body == b"early"
    assert app.given_up == ["slow", "any"]


# The rest of a body that is not read


async def test_who_is_refused_while_sending_can_read_why(app: _App) -> None:
    async with _serving(app) as port, connected(port) as peer:
        await peer.send(request("/refused", "Content-Length: 50000000", method="POST"))
        sending = asyncio.create_task(peer.drip(b"x" * 500_000, 0))
        await asyncio.sleep(_SHORT)
        answer = await peer.answer()
        assert (answer.body, answer.headers["connection"]) == (b"early", "close")
        assert await peer.is_closed()
        await sending
    assert app.asked == ["/refused"]


async def test_connections_that_wait_for_their_end_take_no_room_from_others(app: _App) -> None:
    async with (
        _serving(app, max_connections=2) as port,
        _busy(app, port, 1),
        AsyncExitStack() as stack,
    ):
        for _ in range(50):
            peer = await stack.enter_async_context(connected(port))
            await peer.send(request("/refused", "Content-Length: 1000", method="POST"))
            assert (await peer.answer()).body == b"early"
        assert (await _served(port)).status == 200
