"""Clients that are slow, silent or greedy, against the service as users start it.

The times are short here, and nothing measures how soon a client is cut off: only that it is, and
that others are served meanwhile. What a connection does in detail is in
tests/api/web/test_web_connections.py.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from app.kernel.errors import Reason
from tests.support.bank import ok
from tests.support.live import KEY, LiveServer, live_server
from tests.support.operations import USER
from tests.support.sockets import SOON_SECONDS, connected, request
from tests.support.workers import own_database

_SECONDS = 1.0
"""Every limit; and so what a good client may not take either."""
_ENGINE = "/v1beta1/reasoningEngines/1"
_BODY = json.dumps({"fact": "I like tea.", "scope": USER}).encode()
_KEY = f"Authorization: Bearer {KEY}"
_MANY = 100
_LARGE_BYTES = 6_000_000
_STATE_BYTES = 300_000
_NOT_TAKEN = 'memory_bank_connections_closed_total{reason="answer_not_taken"}'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("slow")
    for parent in (found, *found.parents[:2]):
        parent.chmod(0o755)
    return found


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[LiveServer]:
    """A server on a database of its own, on which no worker works."""
    names = ("IDLE_SECONDS", "HEADER_SECONDS", "BODY_SECONDS", "SEND_SECONDS")
    limits = {f"MEMORY_BANK_{name}": str(_SECONDS) for name in names}
    with (
        own_database(folder) as url,
        live_server(
            folder,
            MEMORY_BANK_DATABASE_URL=url,
            MEMORY_BANK_EMBEDDER="hash",
            MEMORY_BANK_LOG_FORMAT="json",
            **limits,
        ) as found,
    ):
        yield found


@pytest.fixture
async def good(server: LiveServer) -> AsyncIterator[httpx.AsyncClient]:
    """A client as there are many."""
    headers = {"Authorization": f"Bearer {KEY}"}
    async with httpx.AsyncClient(
        base_url=server.url + _ENGINE, headers=headers, timeout=SOON_SECONDS
    ) as found:
        yield found


async def test_others_are_served_while_many_hold_connections_open(
    server: LiveServer, good: httpx.AsyncClient
) -> None:
    async with AsyncExitStack() as stack:
        peers = [await stack.enter_async_context(connected(server.port)) for _ in range(_MANY)]
        for peer in peers[: _MANY // 2]:
            await peer.send(b"GET /healthz HTTP/1.1\r\n")
        dripping = [asyncio.create_task(peer.drip(b"x: y\r\n")) for peer in peers[: _MANY // 2]]
        for _ in range(20):
            assert (await good.get("/memories")).status_code == 200
        ends = await asyncio.gather(*(peer.rest() for peer in peers))
        await asyncio.gather(*dripping)
    assert all(b" 408 " in end and b"REQUEST_TOO_SLOW" in end for end in ends[: _MANY // 2])
    assert ends[_MANY // 2 :] == [b""] * (_MANY - _MANY // 2)


async def test_a_body_that_drips_in_is_answered_with_408_and_nothing_is_done(
    server: LiveServer, good: httpx.AsyncClient
) -> None:
    async with connected(server.port) as peer:
        await peer.send(
            request(f"{_ENGINE}/memories", _KEY, f"Content-Length: {len(_BODY)}", method="POST")
        )
        dripping = asyncio.create_task(peer.drip(_BODY[:1], pause_seconds=0.4))
        answer = await peer.answer()
        assert (answer.status, answer.reason) == (408, Reason.REQUEST_TOO_SLOW)
        assert answer.json["error"]["status"] == "DEADLINE_EXCEEDED"
        assert answer.headers["connection"] == "close"
        assert answer.headers["x-request-id"]
        assert await peer.is_closed()
        await dripping
    assert ok(await good.get("/memories"))["memories"] == []


async def test_without_a_key_a_body_is_not_awaited(server: LiveServer) -> None:
    async with connected(server.port) as peer:
        await peer.send(request(f"{_ENGINE}/memories", "Content-Length: 1000", method="POST"))
        answer = await peer.answer()
        assert (answer.status, answer.reason) == (401, Reason.CREDENTIAL_MISSING)
        assert await peer.is_closed()


async def test_endless_headers_end_the_connection(server: LiveServer) -> None:
    async with connected(server.port) as peer:
        dripping = asyncio.create_task(peer.drip(b"GET / HTTP/1.1\r\nx: " + b"y" * 50_000, 0))
        answer = await peer.answer()
        assert (answer.status, answer.reason) == (431, Reason.HEADERS_TOO_LARGE)
        assert await peer.is_closed()
        await dripping


async def test_what_is_not_http_is_answered_in_the_form_of_every_error(
    server: LiveServer,
) -> None:
    async with connected(server.port) as peer:
        await peer.send(b"\x16\x03\x01\x02\x00\r\n\r\n")
        answer = await peer.answer()
        assert (answer.status, answer.reason) == (400, Reason.REQUEST_NOT_HTTP)
        assert answer.json["error"]["status"] == "INVALID_ARGUMENT"
        assert await peer.is_closed()


async def test_who_does_not_take_a_large_answer_is_cut_off(
    server: LiveServer, good: httpx.AsyncClient
) -> None:
    state = {"text": "x" * _STATE_BYTES}
    for _ in range(_LARGE_BYTES // _STATE_BYTES):
        ok(await good.post("/sessions", json={"userId": "42", "sessionState": state}))
    asked = request(f"{_ENGINE}/sessions?pageSize=100", _KEY)
    async with connected(server.port, 4096) as peer, asyncio.timeout(SOON_SECONDS):
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]  # it is a socket's
        await peer.send(asked)
        while _NOT_TAKEN not in (await good.get(f"{server.url}/metrics")).text:  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.1)
        peer.writer.transport.resume_reading()  # type: ignore[attr-defined]  # as above
        assert len(await peer.rest()) < _LARGE_BYTES
    # Who takes it has all of it, though not at once.
    async with connected(server.port, 65_536) as peer:
        await peer.send(asked)
        head = await peer.reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"content-length: (\d+)", head)
        assert found is not None
        left = int(found[1])
        assert left > _LARGE_BYTES
        while left:
            left -= len(await peer.reader.read(min(left, 500_000)))
            await asyncio.sleep(0.01)


async def test_a_wait_is_not_cut_off(server: LiveServer, good: httpx.AsyncClient) -> None:
    source = {"directMemories": [{"fact": "I like tea."}]}
    queued = ok(
        await good.post("/memories:generate", json={"scope": USER, "directMemoriesSource": source})
    )
    path = f"/v1beta1/{queued['name']}:wait?timeout={4 * _SECONDS}s"
    async with connected(server.port) as peer:
        began = asyncio.get_running_loop().time()
        await peer.send(request(path, _KEY, method="POST", body=b""))
        answer = await peer.answer()
        assert answer.status == 200
        assert not answer.json.get("done")
        assert asyncio.get_running_loop().time() - began > 3 * _SECONDS
        # And goes on.
        await peer.send(request(f"{_ENGINE}/memories", _KEY))
        assert (await peer.answer()).status == 200


async def test_the_log_tells_who_and_where_from_and_no_secret(
    server: LiveServer, folder: Path
) -> None:
    async with connected(server.port) as peer:
        await peer.send(request(f"{_ENGINE}?key=secret-in-query", "x-request-id: with-key", _KEY))
        assert (await peer.answer()).status == 200
        await peer.send(
            request(f"{_ENGINE}?key=secret-in-query", "x-request-id: bad-key", _KEY + "-wrong")
        )
        assert (await peer.answer()).status == 401
    async with asyncio.timeout(SOON_SECONDS):
        # A line is written once the answer is on its way.
        while '"bad-key"' not in (said := (folder / "stderr").read_text()):  # noqa: ASYNC110 - a file
            await asyncio.sleep(0.05)
    lines = [json.loads(line) for line in said.splitlines() if '-key"' in line]
    known, unknown = (line for line in lines if line["request_id"].endswith("-key"))
    assert (known["event"], known["status"], known["address"]) == ("request", 200, "127.0.0.1")
    assert known["caller"]
    assert (unknown["status"], unknown["caller"]) == (401, None)
    assert not [word for word in ("secret-in-query", KEY) if word in said]
