"""One request has one meaning, for whatever reads it on its way; and answers are what they say."""

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI
from pydantic import ValidationError
from starlette.types import Message, Receive, Scope, Send

from app.adapters.resources import Resources
from app.kernel.errors import Reason
from app.process.main import create_app
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.asgi import ADMIN, JSON, Sent, call
from tests.support.bank import ok
from tests.support.cases import in_one_test
from tests.support.engines import API, FIRST, LOCATION
from tests.support.errors import refusal
from tests.support.keys import client_with
from tests.support.sessions import new_path
from tests.support.statements import statements_on

_NOT_JSON = (400, "INVALID_ARGUMENT", Reason.BODY_NOT_JSON)
_COMPRESSED = (415, "INVALID_ARGUMENT", Reason.CONTENT_ENCODING_NOT_SERVED)
_OTHER_HOST = (421, "INVALID_ARGUMENT", Reason.HOST_NOT_SERVED)
_MEMORY = b'{"fact": "I like tea.", "scope": {"user_id": "42"}}'


@pytest.fixture
async def stranger(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with client_with(app, "no key") as found:
        yield found


# Bodies


@pytest.mark.parametrize(
    ("content", "key"),
    [
        (b'{"fact": "s3cret", "fact": "b", "scope": {"user_id": "42"}}', '"fact"'),
        (b'{"fact": "s3cret", "scope": {"user_id": "42", "user_id": "43"}}', '"user_id"'),
    ],
)
async def test_a_key_that_comes_twice_is_refused_by_its_name(
    client: httpx.AsyncClient, content: bytes, key: str
) -> None:
    headers = {"content-type": "application/json"}
    answer = await client.post("/memories", content=content, headers=headers)
    assert refusal(answer) == _NOT_JSON
    assert answer.json()["error"]["message"] == f"The body holds the key {key} twice."
    imported = await client.post("/memories:import", content=content)
    assert "BODY_NOT_JSON" in imported.text
    assert "s3cret" not in imported.text
    assert ok(await client.get("/memories"))["memories"] == []


@in_one_test("coding", ["gzip", "br", "identity, gzip", "GZIP", "x", "identity;q=1"])
async def test_a_compressed_body_is_refused_and_not_read(app: FastAPI, coding: str) -> None:
    for method, path in (
        ("POST", b"/v1/reasoningEngines/1/memories"),
        ("POST", b"/v1/reasoningEngines/1/memories:import"),
        ("PUT", b"/v1/reasoningEngines/1/taskMemories/t/namespaces/n/artifacts/1"),
        ("GET", b"/v1/reasoningEngines/1"),
    ):
        headers = [ADMIN, JSON, (b"content-encoding", coding.encode())]
        answer = await _unread(app, Sent(method, path, b"", headers, _MEMORY))
        assert answer == (415, Reason.CONTENT_ENCODING_NOT_SERVED), path


async def _unread(app: FastAPI, sent: Sent) -> tuple[int, str]:
    """Send a request whose body must not be asked for."""

    async def receive() -> Message:
        raise AssertionError("The body is read.")

    async def watched(scope: Scope, _: Receive, send: Send) -> None:
        await app(scope, receive, send)

    answer = await call(watched, sent)
    return answer.status, answer.reason


async def test_several_codings_count_together_and_no_key_is_told_first(
    client: httpx.AsyncClient, stranger: httpx.AsyncClient
) -> None:
    headers = [("Content-Encoding", "identity"), ("Content-Encoding", "gzip")]
    answer = await client.post("/memories", content=_MEMORY, headers=headers)
    assert refusal(answer) == _COMPRESSED
    assert answer.headers["accept-encoding"] == "identity"
    refused = await stranger.post(f"{FIRST}/memories", content=_MEMORY, headers=headers)
    assert refusal(refused)[0] == 401
    for coding in ("identity", "Identity", "", "identity, identity"):
        plain = {"Content-Encoding": coding, "Content-Type": "application/json"}
        ok(await client.post("/memories", content=_MEMORY, headers=plain))


# Hosts


@pytest.fixture
async def hosted(resources: Resources) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service that serves some hosts only."""
    hosts = Settings(allowed_hosts=["Memory.example.com", "[::1]"]).allowed_hosts
    settings = resources.settings.model_copy(update={"allowed_hosts": hosts})
    async with client_with(create_app(replace(resources, settings=settings)), ADMIN_KEY) as found:
        yield found


@in_one_test(
    ("host", "is_served"),
    [
        ("memory.example.com", True),
        ("MEMORY.example.com:8000", True),
        ("[::1]:8000", True),
        ("test", False),
        ("evil.example", False),
        ("memory.example.com.evil.example", False),
        ("evil@memory.example.com:x", False),
        ("", False),
        ("[", False),
    ],
)
async def test_a_host_that_is_not_listed_is_not_served(
    hosted: httpx.AsyncClient, host: str, *, is_served: bool
) -> None:
    headers = {"Host": host}
    for path in (FIRST, "http://test/docs", "http://test/"):
        answer = await hosted.get(path, headers=headers)
        if is_served:
            assert answer.status_code == 200
        else:
            assert refusal(answer) == _OTHER_HOST
    for path in ("healthz", "readyz"):
        assert (await hosted.get(f"http://test/{path}", headers=headers)).status_code != 421


async def test_any_host_is_served_where_none_is_listed(client: httpx.AsyncClient) -> None:
    ok(await client.get(FIRST, headers={"Host": "any.example:1"}))


@pytest.mark.parametrize("host", ["", "a:8000", "http://a", "*.a", "a/b", "[::1]:8000", "a b"])
def test_what_is_no_host_is_refused_at_the_start(host: str) -> None:
    with pytest.raises(ValidationError, match="must be hosts"):
        Settings(allowed_hosts=[host])


# Answers


async def test_every_answer_is_what_it_is_declared_to_be_and_is_not_kept(
    client: httpx.AsyncClient, stranger: httpx.AsyncClient
) -> None:
    path = await new_path(client)
    found = [
        await client.get(FIRST),
        await client.get("http://test/nothing"),
        await client.get("http://test/"),
        await client.get("http://test/healthz"),
        await client.get("http://test/metrics"),
        await client.get(FIRST, headers={"Origin": "https://evil.example"}),
        await client.post("http://test/v1/keys", json={"displayName": "k", "roles": ["viewer"]}),
        await client.post("/memories", content=b"{"),
        await client.post(f"{path}:context", json={}),
        await stranger.get(FIRST),
    ]
    assert [one.status_code for one in found] == [200, 404, 200, 200, 200, 403, 200, 400, 200, 401]
    for answer in found:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


async def test_documents_may_be_kept(client: httpx.AsyncClient) -> None:
    for path in ("openapi.json", "docs", "docs/assets/swagger-ui.css"):
        answer = await client.get(f"http://test/{path}")
        assert answer.status_code == 200
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "cache-control" not in answer.headers


async def test_a_context_that_is_the_same_is_told_so_with_the_same_headers(
    client: httpx.AsyncClient,
) -> None:
    path = await new_path(client)
    first = await client.post(f"{path}:context", json={})
    headers = {"If-None-Match": first.headers["etag"]}
    again = await client.post(f"{path}:context", json={}, headers=headers)
    assert (again.status_code, again.content) == (304, b"")
    for name in ("etag", "cache-control", "x-content-type-options"):
        assert again.headers[name] == first.headers[name]


# The front page

_BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


async def test_a_browser_is_sent_to_the_console(stranger: httpx.AsyncClient) -> None:
    answer = await stranger.get("http://test/", headers=_BROWSER)
    assert (answer.status_code, answer.headers["location"]) == (303, "/console")
    assert answer.headers["vary"] == "Accept"


async def test_without_the_console_a_browser_is_shown_what_this_is_and_where_the_documentation_is(
    resources: Resources,
) -> None:
    settings = resources.settings.model_copy(update={"console": False})
    app = create_app(replace(resources, settings=settings))
    async with client_with(app, None) as stranger:
        answer = await stranger.get("http://test/", headers=_BROWSER)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["vary"] == "Accept"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert "<h1>Open Memory Bank</h1>" in answer.text
    assert '<a href="/docs">' in answer.text


async def test_without_the_console_its_pages_are_nowhere_and_no_session_is_looked_up(
    resources: Resources,
) -> None:
    settings = resources.settings.model_copy(update={"console": False})
    app = create_app(replace(resources, settings=settings))
    async with client_with(app, None) as stranger:
        stranger.cookies.set("memory-bank-console", "x" * 40)
        with statements_on(resources.db, "console_sessions") as statements:
            for path in ("/console", "/console/sign-in", "/console/e/1/memories"):
                answer = await stranger.get(f"http://test{path}", headers=_BROWSER)
                assert refusal(answer) == (404, "NOT_FOUND", "PATH_NOT_FOUND"), path
    assert statements == []


@pytest.mark.parametrize("accept", ["*/*", "application/json", ""])
async def test_others_are_told_the_same_as_json(stranger: httpx.AsyncClient, accept: str) -> None:
    answer = await stranger.get("http://test/", headers={"Accept": accept})
    assert ok(answer)["name"] == "Open Memory Bank"
    assert (ok(answer)["documentation"], ok(answer)["openapi"]) == ("/docs", "/openapi.json")


async def test_the_front_page_tells_nothing_of_what_is_kept(client: httpx.AsyncClient) -> None:
    answer = await client.get("http://test/", headers=_BROWSER)
    assert LOCATION not in answer.text
    assert (await client.head("http://test/")).status_code == 200
    assert refusal(await client.post("http://test/"))[0] == 405
    assert (await client.get(f"{API}/")).status_code == 404
