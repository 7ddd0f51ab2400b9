"""What contexts refuse, before any model is called."""

from typing import Any

import httpx
import pytest

from app.conversation.summaries.services import material
from tests.support.bank import BAD, ENGINE_URL, field_of, ok, refusal
from tests.support.cases import in_one_test
from tests.support.contexts import (
    HALF,
    SYSTEM,
    context,
    detail,
    of_events,
    of_exchanges,
    said,
    talk,
)
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.sessions import new_path

_BAD: list[tuple[dict[str, Any], str]] = [
    ({"policy": {"strategy": "clever"}}, "policy.strategy"),
    ({"policy": {}}, "policy.strategy"),
    ({"policy": {"strategy": "every_n", "every": 0}}, "policy.every"),
    ({"policy": {"strategy": "every_n", "template": "Summarise!"}}, "policy.template"),
    (
        {"policy": {"strategy": "every_n", "template": "{chat_transcript} {x}"}},
        "policy.template",
    ),
    ({"policy": {"strategy": "every_n", "window": 3}}, "policy"),
    ({"policy": {"strategy": "every_n", "summaryModel": "gpt-none"}}, "policy.summaryModel"),
    ({"policy": {"strategy": "inclusive", "counter": "words"}}, "policy.counter"),
    ({"policy": {"strategy": "agent_summary"}}, "tokenLimit"),
    ({"tokenLimit": 0}, "tokenLimit"),
    ({"reserveOutputTokens": -1}, "reserveOutputTokens"),
    ({"format": "yaml"}, "format"),
    ({"consistency": "strong"}, "consistency"),
    ({"waitTimeout": "soon"}, "waitTimeout"),
    ({"preview": True, "consistency": "wait"}, "preview"),
    ({"asOfSeq": -1}, "asOfSeq"),
    ({"includeMemories": {"topK": 0}}, "includeMemories.topK"),
    ({"includeMemories": {"topK": 101}}, "includeMemories.topK"),
    ({"includeMemories": {"scope": {"user_id": "*"}}}, "includeMemories.scope"),
    ({"systemprompt": "x"}, "systemprompt"),
]


@in_one_test(("asked", "field"), _BAD)
async def test_what_is_wrong_is_named(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder, asked: dict[str, Any], field: str
) -> None:
    path = await of_exchanges(client, 1)
    body = {"pendingMessage": "Hello?", "includeMemories": {}, **asked}
    assert field_of(await client.post(f"{path}:context", json=body)) == field
    assert embedder.calls == []


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        ({"strategy": "every_n", "summaryModel": "gpt-none"}, "summaryModel"),
        ({"strategy": "inclusive", "counter": "words"}, "counter"),
    ],
)
async def test_what_an_engine_or_a_session_names_has_to_be_there(
    client: httpx.AsyncClient, policy: dict[str, Any], field: str
) -> None:
    body = {"contextSpec": {"memoryBankConfig": {"memoryPolicy": policy}}}
    place = f"contextSpec.memoryBankConfig.memoryPolicy.{field}"
    assert field_of(await client.patch(ENGINE_URL, json=body)) == place
    engines = ENGINE_URL.rpartition("/")[0]
    assert field_of(await client.post(engines, json=body)) == place
    refused = await client.post("/sessions", json={"userId": "42", "memoryPolicy": policy})
    assert field_of(refused) == f"memoryPolicy.{field}"
    path = await new_path(client)
    refused = await client.patch(path, json={"memoryPolicy": policy})
    assert field_of(refused) == f"memoryPolicy.{field}"


async def test_an_unknown_counter_is_answered_with_those_there_are(
    client: httpx.AsyncClient,
) -> None:
    path = await new_path(client)
    policy = {"strategy": "inclusive", "counter": "cl100k_base"}
    refused = await client.post(f"{path}:context", json={"policy": policy})
    assert "chars4, declared" in refused.json()["error"]["message"]


async def test_a_window_below_prompt_and_message_is_refused_with_the_numbers(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder
) -> None:
    path = await of_exchanges(client, 1)
    asked = {"systemPrompt": SYSTEM, "pendingMessage": HALF, "includeMemories": {}}
    limits = {"tokenLimit": 500, "reserveOutputTokens": 51}
    refused = await client.post(f"{path}:context", json={**asked, **limits})
    assert refusal(refused) == BAD
    told = detail(refused)
    assert told["reason"] == "BUDGET_TOO_SMALL"
    assert told["metadata"] == {"limit": "500", "reserved": "51", "needed": "450"}
    assert embedder.calls == []
    fits = {**asked, **limits, "reserveOutputTokens": 50, "policy": {"strategy": "window"}}
    assert (await context(client, path, **fits))["tokens"]["total"] == 450


async def test_all_events_are_refused_where_they_do_not_fit(client: httpx.AsyncClient) -> None:
    path = await of_exchanges(client, 40)
    refused = await client.post(f"{path}:context", json={"tokenLimit": 3_999})
    told = detail(refused)
    assert (refusal(refused), told["reason"]) == (BAD, "BUDGET_TOO_SMALL")
    assert told["metadata"] == {"limit": "3999", "reserved": "0", "needed": "4000"}
    assert (await context(client, path, tokenLimit=4_000))["tokens"]["total"] == 4_000


async def test_no_more_is_read_than_a_refusal_needs(
    client: httpx.AsyncClient, sent: list[tuple[str, Any]]
) -> None:
    path = await of_exchanges(client, 450)
    del sent[:]
    refused = await client.post(f"{path}:context", json={"tokenLimit": 1_000})
    assert detail(refused)["reason"] == "BUDGET_TOO_SMALL"
    assert sum("FROM session_events" in text for text, _ in sent) == 1


async def test_a_session_that_is_too_long_needs_a_limit(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(material, "MAX_EVENTS", 200)
    path = await of_events(client, 250, tokens=1)
    assert field_of(await client.post(f"{path}:context", json={})) == "tokenLimit"
    # Strategies that may leave out events leave out the oldest.
    found = await context(client, path, policy={"strategy": "window"})
    assert found["coverage"]["omitted"] == [{"firstSeq": 1, "lastSeq": 50}]


async def test_long_events_are_read_in_short_pages(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(material, "MAX_BYTES", 6 * 1024 * 1024)
    path = await new_path(client)
    for _ in range(6):
        await talk(client, path, [said("user", "x" * (2 * 1024 * 1024))])
    found = await context(client, path, policy={"strategy": "window"})
    assert 3 <= len(found["messages"]) < 6
    assert ok(await client.get(path))["name"]
