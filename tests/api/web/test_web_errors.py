"""What every answer carries, and what no log line and no error may: the text of memories."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import structlog
from fastapi import FastAPI
from structlog.typing import EventDict, Processor

from app.kernel.errors import Reason
from app.platform.operations.services.runner import Runner
from tests.conftest import ADMIN_KEY
from tests.support.asgi import ADMIN, Sent, call
from tests.support.cases import in_one_test
from tests.support.engines import COLLECTION, FIRST
from tests.support.errors import BAD_FIELD, refusal
from tests.support.operations import USER, create_memory, path_of
from tests.support.scripted_models import ScriptedEmbedder

_CANARY = "zebrafish-4711"
_FACT = f"I keep a {_CANARY} at home."
_REQUEST_ID = re.compile(r"[0-9a-f]{16}")


@pytest.fixture
async def lines() -> AsyncIterator[list[EventDict]]:
    """Every line that is logged, as it would be written, from the debug level on."""
    found: list[EventDict] = []
    before = structlog.get_config()

    def keep(_logger: object, _method: str, event: EventDict) -> EventDict:
        found.append(event)
        raise structlog.DropEvent

    processors: list[Processor] = [structlog.contextvars.merge_contextvars, keep]
    structlog.configure(processors=processors, cache_logger_on_first_use=False)
    yield found
    structlog.configure(**before)


_ONE = {"fact": "x", "scope": USER}
_BAD_BODIES: dict[str, list[dict[str, Any]]] = {
    "/memories": [
        {"fact": _FACT},
        {"fact": _FACT, "scope": {"k": "*"}},
        {"fact": [_FACT], "scope": USER},
        {"fact": _FACT + "x" * 10_000, "scope": USER},
        {"fact": _FACT + "\ud800", "scope": USER},
        {"fact": _FACT + "\x00", "scope": USER},
        {"fact": "x", "scope": {"k": _FACT + "*"}},
        {**_ONE, "ttl": _FACT},
        {**_ONE, "expireTime": _FACT},
        {**_ONE, "memoryType": _FACT},
        {**_ONE, "metadata": {"k": {"stringValue": [_FACT]}}},
        {**_ONE, "metadata": _FACT},
        {**_ONE, "topics": [{"managedMemoryTopic": _FACT}]},
    ],
    "/memories:retrieve": [
        {"scope": USER, "filter": f'fact="{_FACT}'},
        {"scope": USER, "filter": f'fact=~"({_CANARY}"'},
        {"scope": USER, "filter": f'create_time>"{_CANARY}"'},
        {"scope": USER, "filter": f"topics.managed_memory_topic:{_CANARY}"},
        {"scope": USER, "similaritySearchParams": {"searchQuery": [_FACT]}},
    ],
    "/memories:purge": [
        {"filter": _CANARY},
        {"filterGroups": [{"filters": [{"key": "k", "value": _FACT}]}]},
    ],
    "/memories:generate": [
        {"scope": USER, "directContentsSource": {"events": [_FACT]}},
        {"scope": USER, "directMemoriesSource": {"directMemories": [_FACT]}},
        {"scope": USER, "vertexSessionSource": {"session": _FACT}},
        {"scope": USER, "timeZone": _FACT},
    ],
    "/memories/m:rollback": [{"targetRevisionId": _FACT}],
    f"/memories?memoryId={_CANARY}%20x": [_ONE],
    f"/memories?requestId={_CANARY}%0A": [_ONE],
}
_BAD_QUERIES = [
    f"filter=fact%3D{_CANARY}%20)",
    f"pageToken={_CANARY}",
    f"orderBy={_CANARY}",
    f"pageSize={_CANARY}",
]


async def test_no_error_and_no_log_line_repeats_a_fact(
    client: httpx.AsyncClient, lines: list[EventDict]
) -> None:
    answers = [await client.get(f"{FIRST}/memories?{query}") for query in _BAD_QUERIES]
    answers.append(await client.patch(f"{FIRST}/memories/m?updateMask={_CANARY}", json=_ONE))
    headers = {"content-type": "application/json"}
    for path, bodies in _BAD_BODIES.items():
        for body in bodies:
            content = json.dumps(body)
            answers.append(await client.post(FIRST + path, content=content, headers=headers))
    for answer in answers:
        assert refusal(answer)[0] in {400, 404}
        assert _CANARY not in answer.text
    assert len(lines) == len(answers)
    assert _CANARY not in str(lines)


async def test_a_whole_life_of_a_memory_leaves_no_text_in_the_logs(
    client: httpx.AsyncClient, runner: Runner, lines: list[EventDict]
) -> None:
    path = path_of((await create_memory(client, _FACT))["name"])
    await client.patch(path, json={"fact": _FACT + " Yes."}, params={"updateMask": "fact"})
    source = {"events": [{"content": {"parts": [{"text": _FACT}]}}]}
    await client.post("/memories:generate", json={"scope": USER, "directContentsSource": source})
    assert await runner.run_pending() == 1
    await client.get("/memories", params={"filter": f'fact:"{_CANARY}"'})
    await client.post("/memories:purge", json={"filter": f"fact:{_CANARY}", "force": True})
    events = [line["event"] for line in lines]
    assert events.count("request") == 5
    assert "operation.succeeded" in events
    assert _CANARY not in str(lines)


@pytest.mark.parametrize("secret", [_FACT, f'duplicate key ("{_CANARY}")'])
async def test_a_fault_says_where_it_is_and_nothing_of_what_it_held(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder, lines: list[EventDict], secret: str
) -> None:
    embedder.failure = RuntimeError(secret)
    answer = await client.post(
        "/memories", json={"fact": _FACT, "scope": USER}, headers={"x-request-id": "my-request"}
    )
    assert refusal(answer) == (500, "INTERNAL", Reason.INTERNAL)
    assert answer.headers["x-request-id"] == "my-request"
    info = answer.json()["error"]["details"][0]
    assert info["metadata"] == {"requestId": "my-request"}
    fault, access = lines
    assert fault["event"] == "request.unexpected_error"
    assert fault["request_id"] == access["request_id"] == "my-request"
    assert fault["error"].startswith("RuntimeError at ")
    assert "scripted_models.py" in fault["error"]
    assert access["status"] == 500
    assert _CANARY not in str(lines) + answer.text


async def test_a_fault_of_the_work_says_nothing_of_what_it_held_either(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder, runner: Runner, lines: list[EventDict]
) -> None:
    source = {"directMemories": [{"fact": _FACT}]}
    queued = await client.post(
        "/memories:generate", json={"scope": USER, "directMemoriesSource": source}
    )
    embedder.failure = RuntimeError(_FACT)
    await runner.run_pending()
    failed = await client.get(path_of(queued.json()["name"]))
    assert failed.json()["error"]["code"] == 13
    assert "operation.unexpected_error" in [line["event"] for line in lines]
    assert _CANARY not in str(lines) + failed.text


async def test_the_access_log_names_routes_and_of_ids_only_that_of_the_engine(
    client: httpx.AsyncClient, lines: list[EventDict]
) -> None:
    await client.get("/memories/some-memory")
    await client.get("http://test/nothing/of/ours")
    known, unknown = lines
    assert known["route"].endswith("/reasoningEngines/{engine}/memories/{memory}")
    assert unknown["route"] == "none"
    always = {"event", "method", "route", "status", "milliseconds", "request_id"}
    assert set(known) == {*always, "caller", "address", "engine", "project"}
    assert known["address"] == "127.0.0.1"
    assert "some-memory" not in str(known)


async def test_every_line_of_a_request_names_its_caller_and_no_other_line_does(
    app: FastAPI, client: httpx.AsyncClient, lines: list[EventDict], embedder: ScriptedEmbedder
) -> None:
    embedder.failure = RuntimeError(_FACT)
    await client.post("/memories", json=_ONE)
    await client.get(FIRST, headers={"Authorization": "Bearer wrong"})
    await client.get("http://test/healthz")
    fault, access, refused, public = lines
    caller = await app.state.authenticator.authenticate(ADMIN_KEY)
    assert fault["event"] == "request.unexpected_error"
    assert fault["caller"] == access["caller"] == caller.key_id
    assert (refused["status"], refused["caller"]) == (401, None)
    assert (public["status"], public["caller"]) == (200, None)
    assert "caller" not in structlog.contextvars.get_contextvars()


async def test_no_line_holds_a_query(client: httpx.AsyncClient, lines: list[EventDict]) -> None:
    """Clients of Google may send an API key as `key`; and a filter quotes memories."""
    await client.get("/memories", params={"key": _CANARY, "filter": f'fact="{_CANARY}"'})
    await client.get("/memories", params={_CANARY: "x"})
    await client.get(f"http://test/nothing?key={_CANARY}")
    await client.get(FIRST, params={"key": _CANARY}, headers={"Authorization": ""})
    assert len(lines) == 4
    assert _CANARY not in str(lines)


async def test_every_answer_has_a_request_id_of_its_own(client: httpx.AsyncClient) -> None:
    urls = [FIRST, f"{FIRST}/memories/x", "http://test/nothing", "http://test/healthz",
            "http://test/metrics", "http://test/docs", "http://test/openapi.json",
            "http://test/docs/assets/swagger-ui.css"]  # fmt: skip
    answers = [await client.get(url) for url in urls]
    answers += [await client.put(FIRST), await client.post("/memories", content=b"{")]
    answers.append(await client.get(FIRST, headers={"Authorization": "Bearer wrong"}))
    answers.append(await client.get("http://test/a%00b"))
    ids = [answer.headers["x-request-id"] for answer in answers]
    assert all(map(_REQUEST_ID.fullmatch, ids))
    assert len(set(ids)) == len(ids)


@in_one_test("given", ["abc", "A-b_c.9", "x" * 64])
async def test_a_good_request_id_is_given_back(client: httpx.AsyncClient, given: str) -> None:
    answer = await client.get(FIRST, headers={"x-request-id": given})
    assert answer.headers["x-request-id"] == given


@in_one_test(
    "given",
    [b"", b"x" * 65, b"a b", b"\xff", b"a;b", b"<b>", b"x" * 100_000, b"a\r\nset-cookie: x"],
)
async def test_another_request_id_is_replaced(app: FastAPI, given: bytes) -> None:
    headers = [ADMIN, (b"x-request-id", given)]
    answer = await call(app, Sent("GET", b"/healthz", b"", headers))
    assert _REQUEST_ID.fullmatch(answer.headers["x-request-id"])


@in_one_test(
    "name",
    [b"if-match", b"idempotency-key", b"accept", b"user-agent", b"x-other", b"x-server-timeout"],
)
@in_one_test("value", [b"\xff\xfe", b"\xf0\x9f\x98\x80", b"x" * 100_000, b"", b"\x00"])
async def test_a_header_of_any_bytes_is_answered(app: FastAPI, name: bytes, value: bytes) -> None:
    body = b'{"fact": "x", "scope": {"user_id": "42"}}'
    path = b"/v1/reasoningEngines/1/memories"
    answer = await call(app, Sent("POST", path, b"", [ADMIN, (name, value)], body))
    if answer.status != 200:
        assert (answer.status, answer.reason) == (400, Reason.FIELD_INVALID)


async def test_a_description_of_what_is_wrong_is_one_for_each_field(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.post(COLLECTION, json={"displayName": 5, "labels": [], "x": 1})
    assert refusal(answer) == BAD_FIELD
    error = answer.json()["error"]
    unknown = (
        "is not a field of this message; it has contextSpec, description, displayName, etag, labels"
    )
    assert error["details"][1] == {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [
            {"field": "displayName", "description": "must be a string."},
            {"field": "labels", "description": "must be an object."},
            {"field": "x", "description": f"{unknown}."},
        ],
    }
    assert error["message"] == (
        f"displayName: must be a string; labels: must be an object; x: {unknown}."
    )


async def test_a_list_field_of_another_type_says_so(client: httpx.AsyncClient) -> None:
    recall = f"{COLLECTION}/1/sessions/-:recall"
    for other in ({"a": 1}, None, "trip", 5):
        body = {"userId": "42", "query": "tea", "excludeSessions": other}
        answer = await client.post(recall, json=body)
        assert refusal(answer) == BAD_FIELD
        assert answer.json()["error"]["message"] == "excludeSessions: must be a list."


async def test_a_field_in_both_spellings_is_refused_as_such(client: httpx.AsyncClient) -> None:
    body = {"displayName": "a", "display_name": "b"}
    answer = await client.post(COLLECTION, json=body)
    assert refusal(answer) == BAD_FIELD
    assert answer.json()["error"]["message"] == (
        "display_name: is given in both spellings; send one of them."
    )


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("permanent=false&permanent=true", "permanent"),
        ("requestId=a&requestId=a", "requestId"),
        ("request_id=a&requestId=b", "requestId"),
    ],
)
async def test_a_parameter_is_given_once(client: httpx.AsyncClient, query: str, name: str) -> None:
    answer = await client.delete(f"{COLLECTION}/1/memories/m?{query}")
    assert refusal(answer) == BAD_FIELD
    assert answer.json()["error"]["message"] == (
        f"{name} is given more than once, perhaps in both spellings."
    )
