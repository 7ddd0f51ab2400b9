"""Pages of other origins: refused, unless the settings list their origin."""

import re
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI
from pydantic import ValidationError

from app.adapters.resources import Resources
from app.kernel.errors import Reason
from app.process.main import create_app
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.asgi import ADMIN, JSON, Sent, call
from tests.support.bank import ok
from tests.support.cases import in_one_test
from tests.support.engines import FIRST
from tests.support.errors import refusal
from tests.support.keys import client_with
from tests.support.operations import USER
from tests.support.scripted_models import ScriptedEmbedder

_REFUSED = (403, "PERMISSION_DENIED", Reason.ORIGIN_NOT_ALLOWED)
_MISSING = (401, "UNAUTHENTICATED", Reason.CREDENTIAL_MISSING)
_LISTED = "https://console.example"
_ALLOWED = "access-control-allow-origin"
_BASIC = {"Authorization": "Basic " + b64encode(f":{ADMIN_KEY}".encode()).decode()}
_MEMORY = {"fact": "I like tea.", "scope": USER}
_FOREIGN = ["https://evil.example", "http://test.evil.example", "http://test:81", "null", "", "x",
            "file://", "http://", "http://[", "ftp://test", "chrome-extension://abc",
            "https://console.example", "http://test@evil.example"]  # fmt: skip


def _listing(resources: Resources, *origins: str, **given: float) -> FastAPI:
    """Return the application with origins in its settings."""
    settings = resources.settings.model_copy(update={"cors_origins": list(origins), **given})
    return create_app(replace(resources, settings=settings))


@pytest.fixture
async def page(resources: Resources) -> AsyncIterator[httpx.AsyncClient]:
    """A page of the listed origin, with a key."""
    async with client_with(_listing(resources, _LISTED, "http://localhost:3000"), ADMIN_KEY) as got:
        got.headers["Origin"] = _LISTED
        yield got


@pytest.fixture
async def any_page(resources: Resources) -> AsyncIterator[httpx.AsyncClient]:
    """A page of some origin, with a key, where all are listed."""
    async with client_with(_listing(resources, "*"), ADMIN_KEY) as got:
        got.headers["Origin"] = "https://some.example"
        yield got


@in_one_test("origin", _FOREIGN)
async def test_a_page_of_another_origin_is_refused_with_a_key_or_without(
    client: httpx.AsyncClient, origin: str
) -> None:
    headers = {"Origin": origin}
    for method, path in [("GET", FIRST), ("DELETE", FIRST), ("GET", "http://test/healthz"),
                         ("GET", "http://test/docs"), ("GET", "http://test/nothing")]:  # fmt: skip
        answer = await client.request(method, path, headers=headers)
        assert refusal(answer) == _REFUSED
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        answer = await client.request(method, path, headers={**headers, "Authorization": ""})
        assert refusal(answer) == _REFUSED


async def test_what_a_page_asks_for_with_the_key_of_the_browser_has_no_effect(
    client: httpx.AsyncClient,
) -> None:
    """A form, or a request without CORS, needs no leave; the browser adds the key by itself."""
    headers = {"Origin": "https://evil.example", **_BASIC}
    body = b'{"fact": "I like spam.", "scope": {"user_id": "42"}}'
    assert refusal(await client.post("/memories", headers=headers, content=body)) == _REFUSED
    site = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", **_BASIC}
    assert refusal(await client.post("/memories", headers=site, content=body)) == _REFUSED
    assert ok(await client.get("/memories"))["memories"] == []


async def test_a_page_of_another_origin_gets_no_leave_to_ask(client: httpx.AsyncClient) -> None:
    headers = {"Origin": _LISTED, "Access-Control-Request-Method": "POST"}
    answer = await client.options("/memories", headers=headers)
    assert refusal(answer) == _REFUSED
    assert _ALLOWED not in answer.headers


@in_one_test(
    ("origin", "host"),
    [
        ("http://test", "test"),
        ("https://test", "test"),
        ("https://test", "test:443"),
        ("http://test:80", "test"),
        ("http://test:8000", "TEST:8000"),
        ("http://[::1]:8000", "[::1]:8000"),
        ("http://127.0.0.1:8000", "127.0.0.1:8000"),
    ],
)
async def test_a_page_of_the_service_itself_is_served_also_behind_tls_that_ends_before(
    client: httpx.AsyncClient, origin: str, host: str
) -> None:
    answer = await client.post("/memories", json=_MEMORY, headers={"Origin": origin, "Host": host})
    assert ok(answer)
    assert _ALLOWED not in answer.headers


@in_one_test("host", ["", "test:x", "[", "other"])
async def test_a_host_that_is_not_that_of_the_origin_is_none_of_its_own(
    app: FastAPI, host: str
) -> None:
    headers = [ADMIN, JSON, (b"origin", b"http://test"), (b"host", host.encode())]
    answer = await call(app, Sent("GET", b"/healthz", b"", headers))
    assert (answer.status, answer.reason) == (403, Reason.ORIGIN_NOT_ALLOWED)


@in_one_test(
    ("site", "expected"),
    [
        ("same-origin", 200),
        ("Same-Origin", 200),
        ("none", 403),
        ("cross-site", 403),
        ("same-site", 403),
        ("x", 403),
    ],
)
async def test_the_browser_knows_better_than_names_of_hosts_which_page_is_its_own(
    client: httpx.AsyncClient, site: str, expected: int
) -> None:
    """Proxies may call this service by another name than the browser does."""
    headers = {"Origin": "https://bank.example", "Sec-Fetch-Site": site}
    assert (await client.get(FIRST, headers=headers)).status_code == expected
    # And a page of another scheme may have the name of this one.
    expected = 403 if site.endswith("-site") else 200
    headers["Origin"] = "https://test"
    assert (await client.get(FIRST, headers=headers)).status_code == expected


@in_one_test(
    ("method", "mode", "dest", "expected"),
    [
        ("GET", "navigate", "document", 200),
        ("GET", "Navigate", "DOCUMENT", 200),
        ("GET", "navigate", "iframe", 403),
        ("GET", "no-cors", "image", 403),
        ("GET", "no-cors", "script", 403),
        ("GET", "cors", "empty", 403),
        ("HEAD", "no-cors", "empty", 403),
        ("POST", "navigate", "document", 403),
    ],
)
async def test_of_what_other_pages_cause_without_an_origin_only_a_link_is_followed(
    client: httpx.AsyncClient, method: str, mode: str, dest: str, expected: int
) -> None:
    for site in ("cross-site", "same-site", "Cross-Site", "SAME-SITE"):
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest, **_BASIC}
        answer = await client.request(method, "http://test/docs", headers=headers)
        assert answer.status_code == expected


async def test_the_documentation_works_in_a_browser(client: httpx.AsyncClient) -> None:
    typed = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", **_BASIC}
    answer = await client.get("http://test/docs", headers=typed)
    assert answer.headers["content-security-policy"] == "frame-ancestors 'none'"
    parts = re.findall(r'(?:src|href)="(/[^"]+)"', answer.text)
    own = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "no-cors", **_BASIC}
    assert len(parts) >= 2
    for path in [*parts, "/openapi.json"]:
        assert (await client.get(f"http://test{path}", headers=own)).status_code == 200
    # What the page sends when something is tried out there, in a browser old or new.
    tried = {"Origin": "http://test", **_BASIC}
    assert ok(await client.post("/memories", json=_MEMORY, headers=tried))
    assert ok(await client.post("/memories", json=_MEMORY, headers={**tried, **own}))


# Listed origins


@in_one_test("method", ["GET", "POST", "PATCH", "DELETE"])
async def test_a_listed_page_has_leave_to_ask_without_a_key(
    page: httpx.AsyncClient, method: str
) -> None:
    wanted = "authorization,content-type,idempotency-key,x-goog-api-key"
    headers = {
        "Authorization": "",
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": wanted,
        "Access-Control-Request-Private-Network": "true",
        "Sec-Fetch-Site": "cross-site",
    }
    answer = await page.options("/memories", headers=headers)
    assert answer.status_code == 200
    assert answer.headers[_ALLOWED] == _LISTED
    assert method in answer.headers["access-control-allow-methods"]
    assert answer.headers["access-control-allow-headers"] == wanted
    assert answer.headers["access-control-allow-private-network"] == "true"
    assert int(answer.headers["access-control-max-age"]) > 0
    assert "origin" in answer.headers["vary"].lower()
    assert "access-control-allow-credentials" not in answer.headers


async def test_a_listed_page_can_read_answers_and_errors(
    page: httpx.AsyncClient, embedder: ScriptedEmbedder
) -> None:
    site = {"Sec-Fetch-Site": "cross-site"}
    answers = [
        await page.get(FIRST, headers=site),
        await page.post("/memories", json=_MEMORY),
        await page.post("/memories", content=b"{"),
        await page.get("/memories/none"),
        await page.get("http://test/nothing"),
        await page.get("http://test/a%00b"),
        await page.put(FIRST),
        await page.get(FIRST, headers={"Authorization": ""}),
        await page.get(FIRST, headers={"Authorization": "Bearer wrong"}),
    ]
    embedder.failure = RuntimeError("x")
    answers.append(await page.post("/memories", json=_MEMORY))
    statuses = [200, 200, 400, 404, 404, 404, 405, 401, 401, 500]
    assert [answer.status_code for answer in answers] == statuses
    for answer in answers:
        assert answer.headers[_ALLOWED] == _LISTED
        exposed = set(answer.headers["access-control-expose-headers"].split(", "))
        own = {
            "x-memory-bank-nodes-away",
            "x-memory-bank-read-age-ms",
            "x-memory-bank-retrieval",
        }
        assert exposed == {"etag", "x-request-id", "retry-after", "www-authenticate", *own}
        assert "Origin" in answer.headers["vary"]
        assert answer.headers["x-request-id"]
        assert "access-control-allow-credentials" not in answer.headers


async def test_a_page_that_is_not_listed_is_refused_where_others_are(
    page: httpx.AsyncClient,
) -> None:
    for origin in ("https://console.example.evil", "http://console.example", "null", ""):
        answer = await page.get(FIRST, headers={"Origin": origin})
        assert refusal(answer) == _REFUSED
        assert _ALLOWED not in answer.headers


async def test_a_key_that_the_browser_adds_by_itself_does_not_count_for_a_listed_page(
    page: httpx.AsyncClient, any_page: httpx.AsyncClient
) -> None:
    for asking in (page, any_page):
        answer = await asking.post("/memories", json=_MEMORY, headers=_BASIC)
        assert refusal(answer) == _MISSING
        assert ok(await asking.get("/memories"))["memories"] == []


async def test_a_listed_page_can_read_that_it_asks_too_much(resources: Resources) -> None:
    app = _listing(resources, _LISTED, key_rate_units_per_second=1, rate_burst_seconds=1)
    async with client_with(app, ADMIN_KEY) as asking:
        asking.headers["Origin"] = _LISTED
        # The costliest that there is, and so all that such a key may ask for at once.
        ok(await asking.post("/memories:purge", json={"filter": "fact:x"}))
        answer = await asking.post("/memories:retrieve", json={"scope": USER})
    assert refusal(answer) == (429, "RESOURCE_EXHAUSTED", Reason.RATE_LIMIT_EXCEEDED)
    assert answer.headers[_ALLOWED] == _LISTED
    assert answer.headers["retry-after"]


async def test_all_can_be_listed(any_page: httpx.AsyncClient) -> None:
    for origin in ("https://some.example", "null"):
        answer = await any_page.get(FIRST, headers={"Origin": origin})
        assert ok(answer)
        assert answer.headers[_ALLOWED] == "*"
    headers = {"Access-Control-Request-Method": "POST"}
    assert (await any_page.options(FIRST, headers=headers)).headers[_ALLOWED] == "*"


async def test_without_an_origin_nothing_is_different(
    client: httpx.AsyncClient, any_page: httpx.AsyncClient
) -> None:
    for asking in (client, any_page):
        asking.headers.pop("Origin", None)
        answer = await asking.get(FIRST)
        assert ok(answer)
        assert _ALLOWED not in answer.headers
        # Not a preflight, so not answered as one.
        assert (await asking.options(FIRST)).status_code == 405
        assert refusal(await asking.options(FIRST, headers={"Authorization": ""})) == _MISSING


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([], []),
        (["*"], ["*"]),
        (["https://Console.Example:443"], ["https://console.example"]),
        (["http://localhost:80", "http://localhost:3000"],
         ["http://localhost", "http://localhost:3000"]),
        (["https://localhost:80", "http://[::1]:8080"], ["https://localhost:80", "http://[::1]:8080"]),
        (["chrome-extension://abc"], ["chrome-extension://abc"]),
    ],
)  # fmt: skip
def test_origins_are_kept_as_browsers_send_them(given: list[str], kept: list[str]) -> None:
    assert Settings(cors_origins=given).cors_origins == kept


@pytest.mark.parametrize(
    "given",
    [
        ["*", "https://a.example"],
        ["*", "*"],
        ["null"],
        [""],
        ["a.example"],
        ["https://a.example/"],
        ["https://a.example/path"],
        ["https://*.example"],
        ["https://a.example https://b.example"],
        ["https://a.example:port"],
        ["https://user@a.example"],
    ],
)
def test_what_is_no_origin_is_refused_at_the_start(given: list[str]) -> None:
    with pytest.raises(ValidationError, match="must be origins"):
        Settings(cors_origins=given)
