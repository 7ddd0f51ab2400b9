"""The caller of a request can be handed over in the process, and in no way on the wire."""

import asyncio
import json
from socket import create_server

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

from app.adapters.inprocess import CALLER, SURFACE, InProcess
from app.adapters.uvicorn.server import connections_of, served
from app.kernel.auth import Caller, Reach
from app.kernel.permissions import Permission
from app.settings.settings import Settings
from app.web.errors import render_last
from tests.conftest import ADMIN_KEY
from tests.support.bank import ENGINE

_LISTER = Caller("somebody", frozenset({Permission.MEMORIES_LIST}), Reach())
_PATH = f"/v1beta1/{ENGINE}/memories"


def in_process(app: FastAPI, caller: Caller = _LISTER) -> InProcess:
    async def asgi(scope: Scope, receive: Receive, send: Send) -> None:
        await app(scope, receive, send)

    return InProcess(asgi, caller, "console", "test", "192.0.2.7", "a-request")


async def test_the_caller_handed_over_is_whom_the_routes_see(app: FastAPI) -> None:
    calls = in_process(app)
    headers = {"authorization": f"Bearer {ADMIN_KEY}", "x-goog-api-key": ADMIN_KEY}
    listed = await calls.call("GET", _PATH, query=[("pageSize", "1")], headers=headers)
    assert (listed.status, json.loads(listed.body)) == (200, {"memories": []})
    refused = await calls.call("POST", _PATH, body={"fact": "x"}, headers=headers)
    error = json.loads(refused.body)["error"]
    assert (refused.status, error["details"][0]["reason"]) == (403, "PERMISSION_MISSING")
    missing = await in_process(app, Caller("x", frozenset(), Reach(engines=frozenset()))).call(
        "GET", "/v1beta1/reasoningEngines/1"
    )
    assert missing.status == 403


@pytest.mark.parametrize("dots", [".", ".."])
async def test_an_id_of_dots_leads_to_no_other_method(app: FastAPI, dots: str) -> None:
    """Without care, `engine/memories/..` would be the engine, and its deletion would pass."""
    may = frozenset({Permission.ENGINES_GET, Permission.ENGINES_DELETE, Permission.MEMORIES_DELETE})
    calls = in_process(app, Caller("somebody", may, Reach()))
    for method in ("GET", "DELETE"):
        answer = await calls.call(method, f"{_PATH}/{dots}")
        assert answer.status in {403, 404}, answer
    assert (await calls.call("GET", f"/v1beta1/{ENGINE}")).status == 200


@pytest.mark.parametrize("fact", [float("nan"), "\ud800"])
async def test_the_api_refuses_what_a_body_cannot_hold(app: FastAPI, fact: object) -> None:
    calls = in_process(app, Caller("somebody", frozenset({Permission.MEMORIES_CREATE}), Reach()))
    body = {"fact": fact, "scope": {"user_id": "42"}}
    assert (await calls.call("POST", _PATH, body=body)).status == 400


async def test_nothing_on_the_wire_sets_a_key_of_the_scope(
    app: FastAPI, settings: Settings
) -> None:
    """Header, query, path, cookie and body all name it, to the real server."""
    seen: list[Scope] = []

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        await app(scope, receive, send)
        seen.append(scope)

    async def ask(name: str, method: str, target: str, body: str = "") -> bytes:
        value = '{"key_id":"x","permissions":["memories.list"]}'
        named = "".join(f"{prefix}{name}: {value}\r\n" for prefix in ("", "x-", "asgi-"))
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            f"{method} {target} HTTP/1.1\r\nhost: test\r\n{named}cookie: {name}={value}\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n{body}".encode()
        )
        answer = await reader.read()
        writer.close()
        return answer

    with create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]
        http = connections_of(settings, app.state.gate.limits.give_up_body, render_last)
        async with served(watched, settings, bound, http):
            for name in (CALLER, SURFACE, f"scope.{CALLER}"):
                for method, target in (
                    ("GET", f"{_PATH}?{name}=x"),
                    ("GET", f"{_PATH}/{name}"),
                    ("GET", f"/{name}{_PATH}"),
                    ("GET", f"{_PATH};{name}=x"),
                    ("POST", _PATH),
                ):
                    answer = await ask(name, method, target, f'{{"{name}": {{"key_id": "x"}}}}')
                    assert answer.startswith(b"HTTP/1.1 401 "), (method, target, answer)
    assert len(seen) == 15
    assert not any(str(key).startswith("memory_bank") for scope in seen for key in scope)


async def test_calls_bear_id_address_and_surface(app: FastAPI, client: httpx.AsyncClient) -> None:
    seen: list[Message] = []

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append({"client": scope["client"], "surface": scope[SURFACE]})
        await app(scope, receive, send)

    calls = in_process(app)
    editor = Caller("somebody", frozenset({Permission.MEMORIES_CREATE}), Reach())
    made = InProcess(watched, editor, "console", "test", "192.0.2.7", "a-request")
    body = {"fact": "I like tea.", "scope": {"user_id": "42"}}
    assert (await made.call("POST", _PATH, body=body)).status == 200
    assert (await calls.call("GET", _PATH)).status == 200
    assert seen == [{"client": ("192.0.2.7", 0), "surface": "console"}]
    events = (await client.get("auditEvents")).json()["auditEvents"]
    told = {name: events[0][name] for name in ("caller", "surface", "address", "requestId")}
    assert told == {
        "caller": "somebody",
        "surface": "console",
        "address": "192.0.2.7",
        "requestId": "a-request",
    }


async def test_after_its_body_a_call_sends_nothing_more() -> None:
    """An application that waits for the client to leave waits until its own answer."""

    async def watching(scope: Scope, receive: Receive, send: Send) -> None:
        assert (scope["path"], scope["query_string"]) == ("/a b", b"filter=x%3D1")
        first = await receive()
        assert (first["body"], first.get("more_body", False)) == (b'{"a": 1}', False)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(receive(), 0.01)
        await send({"type": "http.response.start", "status": 201, "headers": []})
        for part in (b"x", b"y"):
            await send({"type": "http.response.body", "body": part, "more_body": part == b"x"})

    made = InProcess(watching, _LISTER, "console", "test", "192.0.2.7", "a-request")
    assert await made.call("POST", "/a%20b", query=[("filter", "x=1")], body={"a": 1}) == (
        201,
        b"xy",
    )


async def test_a_download_is_handed_on_while_it_is_made() -> None:
    seen: list[str] = []

    async def slow(scope: Scope, _: Receive, send: Send) -> None:
        assert (scope["path"], scope["query_string"]) == ("/a b", b"filter=x%3D1")
        assert scope[SURFACE] == "console"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(3):
            seen.append(f"made {number}")
            await send({"type": "http.response.body", "body": b"x", "more_body": number < 2})

    async def send(message: Message) -> None:
        seen.append(message["type"].rpartition(".")[2])

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    made = InProcess(slow, _LISTER, "console", "test", "192.0.2.7", "a-request")
    await made.forward("/a%20b", [("filter", "x=1")], receive, send)
    assert seen == ["start", "made 0", "body", "made 1", "body", "made 2", "body"]
