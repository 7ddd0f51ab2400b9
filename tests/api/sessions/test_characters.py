"""Events are stored whatever characters they hold; what callers write themselves is refused."""

import json
from typing import Any

import httpx
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from app.kernel.errors import Reason
from tests.support.bank import Json, ok
from tests.support.cases import in_one_test
from tests.support.errors import refusal
from tests.support.operations import USER
from tests.support.sessions import event, events, new_path, texts

_NOT_JSON = (400, "INVALID_ARGUMENT", Reason.BODY_NOT_JSON)
_SAID = ["a\x00b", "tea \ud83d", "\udc00\x00"]
_KEPT = ["a\ufffdb", "tea \ufffd", "\ufffd\ufffd"]


async def _send(client: httpx.AsyncClient, path: str, body: Json) -> httpx.Response:
    # As official clients do, with escapes: httpx would not encode half of a pair.
    content = json.dumps(body).encode()
    return await client.post(path, content=content, headers={"content-type": "application/json"})


def _replaced() -> float:
    return REGISTRY.get_sample_value("memory_bank_replaced_characters_total") or 0.0


@in_one_test(("said", "kept"), list(zip(_SAID, _KEPT, strict=True)))
async def test_each_way_of_appending_replaces_them(
    client: httpx.AsyncClient, said: str, kept: str
) -> None:
    path = await new_path(client)
    before, number = _replaced(), kept.count("\ufffd")
    with capture_logs() as logs:
        assert ok(await _send(client, f"{path}:appendEvent", event(said))) == {}
    logged = [entry for entry in logs if entry["event"] == "body.characters_replaced"]
    assert logged == [
        {"event": "body.characters_replaced", "log_level": "warning", "count": number}
    ]
    ok(await _send(client, f"{path}/exchanges", {"input": said, "output": said}))
    ok(await _send(client, f"{path}/events:batch", {"events": [event(said), event("whole")]}))
    assert await texts(client, path) == [kept, kept, kept, kept, "whole"]
    assert _replaced() - before == 4 * number


async def test_they_are_replaced_in_all_of_an_event(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    fields: dict[str, Any] = {
        "author": "the\x00agent",
        "errorMessage": "\ud800",
        "actions": {"stateDelta": {"k\x00": ["v\udfff", {"deep": "\x00"}]}},
        "rawEvent": {"a": "\x00"},
    }
    ok(await _send(client, f"{path}:appendEvent", event("tea", **fields)))
    (found,) = await events(client, path)
    assert found["author"] == "the\ufffdagent"
    assert found["errorMessage"] == "\ufffd"
    assert found["actions"] == {"stateDelta": {"k\ufffd": ["v\ufffd", {"deep": "\ufffd"}]}}
    assert found["rawEvent"] == {"a": "\ufffd"}
    assert ok(await client.get(path))["sessionState"] == {
        "k\ufffd": ["v\ufffd", {"deep": "\ufffd"}]
    }


async def test_whole_pairs_stay(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    ok(await _send(client, f"{path}:appendEvent", event("\U0001f600 \ud83d\x00")))
    assert await texts(client, path) == ["\U0001f600 \ufffd\ufffd"]


async def test_a_repeated_event_is_known_by_its_request_id(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    for _ in range(2):
        content = json.dumps(event("a\x00b")).encode()
        headers = {"content-type": "application/json", "Idempotency-Key": "once"}
        ok(await client.post(f"{path}:appendEvent", content=content, headers=headers))
    assert await texts(client, path) == ["a\ufffdb"]


@in_one_test("method", ["ingestEvents", "generate"])
@in_one_test("source", ["directContentsSource", "direct_contents_source"])
@in_one_test(("said", "kept"), list(zip(_SAID, _KEPT, strict=True)))
async def test_conversations_in_requests_are_taken(
    client: httpx.AsyncClient, method: str, source: str, said: str, kept: str
) -> None:
    content = {"role": "user", "parts": [{"text": said}]}
    body = {"scope": USER, source: {"events": [{"content": content}]}}
    before = _replaced()
    ok(await _send(client, f"/memories:{method}", body))
    assert _replaced() - before == kept.count("\ufffd")


@in_one_test(
    ("path", "body"),
    [
        ("/memories:ingestEvents", {"scope": {"user_id": "4\x002"}}),
        ("/memories:ingestEvents", {"scope": USER, "streamId": "\ud800"}),
        ("/memories:ingestEvents", {"scope": USER, "metadata": {"a\x00": {"stringValue": "b"}}}),
        ("/memories", {"scope": USER, "fact": "a\x00b"}),
        (
            "/memories:generate",
            {"scope": USER, "directMemoriesSource": {"directMemories": [{"fact": "a\x00b"}]}},
        ),
        ("/memories", {"scope": USER, "fact": "tea", "displayName": "\udfff"}),
        ("/sessions", {"userId": "4\x002"}),
        ("/sessions", {"userId": "42", "sessionState": {"a": "\ud83d"}}),
    ],
)
async def test_what_callers_write_themselves_is_refused(
    client: httpx.AsyncClient, path: str, body: Json
) -> None:
    before = _replaced()
    assert refusal(await _send(client, path, body)) == _NOT_JSON
    assert _replaced() == before


async def test_keys_that_become_one_are_refused(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    body = event("tea", rawEvent={"a\x00": 1, "a\ud800": 2})
    answer = await _send(client, f"{path}:appendEvent", body)
    assert refusal(answer) == _NOT_JSON
    assert "twice" in answer.json()["error"]["message"]
    assert await events(client, path) == []
