"""What becomes of the outputs of tools: a prompt, a reference or an error, none of them by halves.

Source: design of task memory, checks T1, T2, T8 to T12, T14, T16.
"""

import base64
import json
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from structlog.testing import capture_logs

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.settings.settings import Settings
from tests.support.bank import BAD, GONE, TAKEN, Json, ok, refusal
from tests.support.cases import in_one_test
from tests.support.keys import client_with, make_key
from tests.support.tasks import MEMORY, NAMESPACE, NOTHING, process, store, stored, text_output
from tests.support.tasks import names as names_of

CANARY = "canary-zq8f3a61d0"
STREET = "111.108 Long Lane, third floor."


def blob(content: bytes, **fields: Any) -> Json:
    return {"kind": "blob", "data": base64.b64encode(content).decode(), **fields}


def shown(answer: httpx.Response) -> str:
    return f"{answer.text}\n{dict(answer.headers)}"


async def test_by_default_an_output_is_for_the_prompt(
    client: httpx.AsyncClient, database: Database
) -> None:
    answer = ok(await process(client, text_output(STREET)))
    assert answer == {"disposition": "inline", "promptText": STREET}
    assert await stored(database) == NOTHING


async def test_off_the_prompt_only_a_reference_is_told(
    client: httpx.AsyncClient, database: Database
) -> None:
    with capture_logs() as lines:
        answer = await process(client, text_output(f"The code is {CANARY}."), offPrompt=True)
        body = ok(answer)
        namespace = body["reference"]["namespace"]
        path = f"{MEMORY}/namespaces/{namespace}"
        told = [answer, *[await client.get(f"{path}{tail}") for tail in ("", "/artifacts")]]
        told += [await client.get(one) for one in ("/taskMemories", MEMORY, f"{MEMORY}/namespaces")]
        told.append(await client.get("http://test/metrics"))
        told.append(await client.get("http://test/v1/auditEvents"))
    assert body["disposition"] == "stored"
    assert all(CANARY not in shown(one) for one in told)
    assert CANARY not in str(lines)
    assert len(body["promptText"]) <= 400
    assert all(one in body["promptText"] for one in ("web", "fetch", "tools", namespace))
    reference = body["reference"]
    assert reference["readableWith"] == ["query", "summarize"]
    assert (reference["count"], reference["artifacts"][0]["kind"]) == (1, "text")
    assert (await stored(database))["task_chunks"] == 1
    content = await client.get(f"{path}/artifacts/artifact-1/content")
    assert content.text == f"The code is {CANARY}."


@pytest.mark.parametrize(("tokens", "disposition"), [(999, "inline"), (1_001, "stored")])
async def test_auto_keeps_what_is_long_off(
    client: httpx.AsyncClient, tokens: int, disposition: str
) -> None:
    answer = await process(client, text_output("word" * tokens), offPrompt="auto")
    assert ok(answer)["disposition"] == disposition


class TestStorableTextAlone:
    """A service that stores texts and nothing else."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"task_storable": ["text"]})

    async def test_other_kinds_are_refused_without_a_word_of_them(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        answer = await process(client, blob(CANARY.encode()), offPrompt=True)
        assert refusal(answer) == BAD
        assert answer.json()["error"]["details"][0]["reason"] == "UNSUPPORTED_ARTIFACT_TYPE"
        assert CANARY not in shown(answer)
        encoded = base64.b64encode(CANARY.encode()).decode()
        assert encoded not in shown(answer)
        uploaded = await client.put(f"{NAMESPACE}/artifacts/a", content=CANARY.encode())
        assert refusal(uploaded) == BAD
        assert await stored(database) == NOTHING


@pytest.mark.parametrize("kind", ["info", "error"])
async def test_information_and_errors_are_never_stored(
    client: httpx.AsyncClient, database: Database, kind: str
) -> None:
    answer = await process(client, {"kind": kind, "text": "3 files written"}, offPrompt=True)
    assert ok(answer) == {"disposition": "passthrough", "promptText": "3 files written"}
    long = await process(client, {"kind": kind, "text": CANARY * 300}, offPrompt=True)
    assert refusal(long) == BAD
    assert long.json()["error"]["details"][0]["reason"] == "INFO_TOO_LARGE"
    assert CANARY not in shown(long)
    assert await stored(database) == NOTHING


async def test_a_list_keeps_its_order_and_what_is_in_it_twice(client: httpx.AsyncClient) -> None:
    elements = [text_output(one) for one in ("tea", "coffee", "tea")]
    reference = ok(await process(client, {"kind": "list", "elements": elements}, offPrompt=True))[
        "reference"
    ]
    assert reference["count"] == 3
    path = f"{MEMORY}/namespaces/{reference['namespace']}"
    found = [
        (await client.get(f"{path}/artifacts/{one}/content")).text
        for one in await names_of(client, path)
    ]
    assert found == ["tea", "coffee", "tea"]


@pytest.mark.parametrize(
    ("element", "reason"),
    [
        ({"kind": "action", "text": CANARY}, "UNSUPPORTED_ARTIFACT_TYPE"),
        ({"kind": "list", "elements": [{"kind": "text", "text": CANARY}]}, "NESTED_LIST"),
    ],
)
async def test_a_list_is_refused_whole_for_one_element(
    client: httpx.AsyncClient, database: Database, element: Json, reason: str
) -> None:
    elements = [text_output("tea"), element]
    answer = await process(client, {"kind": "list", "elements": elements}, offPrompt=True)
    assert refusal(answer) == BAD
    told = answer.json()["error"]["details"][0]
    assert (told["reason"], told["metadata"]["index"]) == (reason, "1")
    assert CANARY not in shown(answer)
    assert await stored(database) == NOTHING


async def test_what_a_list_tells_the_agent_is_beside_the_reference(
    client: httpx.AsyncClient,
) -> None:
    elements = [text_output("tea"), {"kind": "info", "text": "1 page"}]
    answer = ok(await process(client, {"kind": "list", "elements": elements}, offPrompt=True))
    assert answer["passthrough"] == [{"kind": "info", "index": 1, "text": "1 page"}]
    assert answer["reference"]["count"] == 1


@in_one_test(
    "body",
    [
        {"activity": "fetch", "output": text_output(CANARY)},
        {"tool": "web", "activity": "fetch", "output": {"kind": "text", CANARY: 1}},
        {"tool": "web", "activity": "fetch", "output": {"kind": "blob", "data": f"!{CANARY}"}},
        {"tool": CANARY + "/", "activity": "fetch", "output": text_output(CANARY)},
        {"tool": "web", "activity": "fetch", CANARY: "x", "output": text_output(CANARY)},
        {"tool": "web", "activity": "fetch", "offPrompt": CANARY, "output": text_output(CANARY)},
    ],
)
async def test_what_is_malformed_is_not_repeated(
    client: httpx.AsyncClient, database: Database, body: Json
) -> None:
    with capture_logs() as lines:
        answer = await client.post(f"{MEMORY}:processOutput", json=body)
    assert refusal(answer) == BAD
    assert CANARY not in shown(answer)
    assert CANARY not in str(lines)
    assert await stored(database) == NOTHING


async def test_who_cannot_read_is_warned(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
) -> None:
    secret = await make_key(database, clock.now(), permissions=["artifacts.write"])
    async with client_with(app, secret) as writer:
        answer = ok(await process(writer, text_output("tea"), offPrompt=True))
    assert answer["warnings"] == ["no_reader"]
    readable = ok(await process(client, text_output("tea"), offPrompt=True))
    assert "warnings" not in readable
    picture = ok(await process(client, blob(b"\x89PNG\r\n\x1a\n\x00\x01"), offPrompt=True))
    assert picture["warnings"] == ["no_reader"]


async def test_a_repeated_request_stores_once_and_tells_the_same(
    client: httpx.AsyncClient, database: Database
) -> None:
    headers = {"Idempotency-Key": "call-1"}
    body = {"tool": "web", "activity": "f", "offPrompt": True, "output": text_output("tea")}
    path = f"{MEMORY}:processOutput"
    first = ok(await client.post(path, json=body, headers=headers))
    again = await client.post(path, json=body, headers=headers)
    assert ok(again) == first
    assert again.headers["Idempotent-Replayed"] == "true"
    assert (await stored(database))["task_namespaces"] == 1
    other = await client.post(path, json={**body, "activity": "g"}, headers=headers)
    assert refusal(other) == TAKEN


async def test_all_that_is_stored_at_once_has_other_names(
    client: httpx.AsyncClient, database: Database
) -> None:
    ok(await store(client, text_output("tea", name="one"), text_output("milk")))
    before = await stored(database)
    again = await store(client, text_output("more"), text_output("x", name="one"))
    assert refusal(again) == TAKEN
    assert await stored(database) == before
    ok(await store(client, text_output("more"), {"kind": "json", "json": {"rows": [1, None]}}))
    assert await names_of(client) == ["one", "artifact-2", "artifact-3", "artifact-4"]
    content = await client.get(f"{NAMESPACE}/artifacts/artifact-4/content")
    assert json.loads(content.content) == {"rows": [1, None]}
    assert content.headers["content-type"] == "application/json"


async def test_too_much_at_once_is_refused(client: httpx.AsyncClient, database: Database) -> None:
    half = "x" * (600 * 1024)
    answer = await store(client, text_output(half), text_output(half))
    assert answer.status_code == 413
    assert answer.json()["error"]["details"][0]["reason"] == "BODY_TOO_LARGE"
    assert await stored(database) == NOTHING


async def test_the_policy_of_a_tool_holds_where_requests_do_not_say(
    client: httpx.AsyncClient,
) -> None:
    path = f"{MEMORY}/toolPolicies/web"
    assert refusal(await client.get(path)) == GONE
    body = {"offPrompt": "auto", "maxInlineTokens": 3, "ttl": "60s"}
    made = ok(await client.put(path, json=body))
    assert made == ok(await client.get(path))
    assert ok(await client.get(f"{MEMORY}/toolPolicies"))["toolPolicies"] == [made]
    assert ok(await process(client, text_output("123456789012")))["disposition"] == "inline"
    kept = ok(await process(client, text_output("1234567890123")))
    assert kept["disposition"] == "stored"
    assert kept["reference"]["expireTime"] == "2026-01-15T12:01:00Z"
    loosened = ok(await process(client, text_output("1234567890123"), offPrompt=False))
    assert loosened["disposition"] == "inline"
    etag = {"If-Match": made["etag"]}
    ok(await client.put(path, json={"sensitive": True}, headers=etag))
    tightened = await process(client, text_output("a"), offPrompt=False)
    assert ok(tightened)["disposition"] == "stored"
    assert refusal(await client.put(path, json={}, headers=etag)) == (409, "ABORTED")
    ok(await client.delete(path))
    assert ok(await process(client, text_output("a")))["disposition"] == "inline"


async def test_what_is_stored_is_under_the_policy_of_its_tool(client: httpx.AsyncClient) -> None:
    ok(await client.put(f"{MEMORY}/toolPolicies/bank", json={"sensitive": True, "ttl": "600s"}))
    ok(await store(client, text_output("The balance is 777."), tool="bank", ttl="3600s"))
    found = ok(await client.get(NAMESPACE))
    assert found["sensitive"]
    assert found["expireTime"] == "2026-01-15T12:10:00Z"
