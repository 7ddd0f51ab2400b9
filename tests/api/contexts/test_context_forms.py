"""The forms in which contexts are answered."""

from typing import Any

import httpx

from tests.support.bank import Json, field_of, ok
from tests.support.contexts import context, exchange, said, talk
from tests.support.operations import create_memory
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.sessions import new_path

_CALL: Json = {"functionCall": {"id": "c1", "name": "find", "args": {"q": "12A"}}}
_RESULT: Json = {"functionResponse": {"id": "c1", "name": "find", "response": {"free": True}}}
_ASKED: dict[str, Any] = {"systemPrompt": "Be kind.", "pendingMessage": "Book it."}


async def _told(client: httpx.AsyncClient) -> str:
    path = await new_path(client)
    call = said("agent", "", content={"role": "model", "parts": [_CALL]})
    result = said("agent", "", content={"role": "user", "parts": [_RESULT]})
    await talk(client, path, [said("user", "Is 12A free?"), call, result, said("agent", "Yes.")])
    return path


async def test_openai_takes_the_messages_as_they_are(client: httpx.AsyncClient) -> None:
    path = await _told(client)
    found = await context(client, path, format="openai", **_ASKED)
    messages = found["messages"]
    assert [one["role"] for one in messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    (call,) = messages[2]["tool_calls"]
    assert (call["function"]["name"], messages[3]["tool_call_id"]) == ("find", call["id"])
    assert not any("source" in one for one in messages)
    assert [one["kind"] for one in found["sources"]] == ["system", *["event"] * 4, "pending"]


async def test_gemini_takes_contents_and_an_instruction(client: httpx.AsyncClient) -> None:
    path = await _told(client)
    found = await context(client, path, format="gemini", **_ASKED)
    assert found["systemInstruction"]["parts"] == [{"text": "Be kind."}]
    assert [one["role"] for one in found["contents"]] == ["user", "model", "user", "model", "user"]
    assert found["contents"][1]["parts"][0]["functionCall"]["name"] == "find"
    assert len(found["sources"]) == 6


async def test_a_text_has_all_in_its_order(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder
) -> None:
    embedder.place("I like 12A.", near="Book it.", distance=0.1)
    await create_memory(client, "I like 12A.")
    path = await new_path(client)
    await exchange(client, path, "Is 12A free?", "Yes.")
    policy = {"strategy": "inclusive", "humanLabel": "Guest", "aiLabel": "Desk"}
    asked = {**_ASKED, "includeMemories": {}, "format": "text", "policy": policy}
    found = await context(client, path, **asked)
    assert found["text"].splitlines() == [
        "Be kind.",
        "Guest: Is 12A free?",
        "Desk: Yes.",
        "<memory_bank_context>",
        "- I like 12A.",
        "</memory_bank_context>",
        "Guest: Book it.",
    ]
    # Each line with its end: 9, 20, 11, 22 + 14 + 23 and 16 characters.
    expected = {"system": 3, "events": 8, "memories": 15, "pending": 4, "total": 30}
    assert found["tokens"].items() >= expected.items()


async def test_an_event_that_does_not_fit_is_cut_and_told(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    await talk(client, path, [said("user", "First."), said("user", "word " * 200)])
    for form in ("messages", "openai"):
        found = await context(
            client, path, policy={"strategy": "window"}, tokenLimit=40, format=form
        )
        assert found["truncatedEvents"] == [{"seq": 2, "tokens": 40}]
        (message,) = found["messages"]
        assert message["content"].startswith("word word")
        assert message["content"].endswith("[... cut]")
        assert len(message["content"]) <= 160
        assert found["coverage"]["omitted"] == [{"firstSeq": 1, "lastSeq": 1}]


async def test_both_spellings_are_taken(client: httpx.AsyncClient) -> None:
    path = await _told(client)
    camel = ok(await client.post(f"{path}:context", json={"systemPrompt": "x", "tokenLimit": 99}))
    snake = ok(await client.post(f"{path}:context", json={"system_prompt": "x", "token_limit": 99}))
    assert camel == snake
    both = await client.post(f"{path}:context", json={"system_prompt": "x", "systemPrompt": "x"})
    assert field_of(both)


async def test_a_sign_that_is_no_character_is_refused(client: httpx.AsyncClient) -> None:
    path = await _told(client)
    headers = {"content-type": "application/json"}
    body = b'{"systemPrompt": "\\ud800"}'
    refused = await client.post(f"{path}:context", content=body, headers=headers)
    assert refused.status_code == 400


async def test_a_message_costs_its_overhead_in_openai_for_each_result(
    client: httpx.AsyncClient,
) -> None:
    path = await new_path(client)
    calls = [{"functionCall": {"name": "a", "id": f"{n}"}} for n in range(20)]
    results = [{"functionResponse": {"name": "a", "id": f"{n}", "response": {}}} for n in range(20)]
    call = said("agent", "", content={"role": "model", "parts": calls})
    result = said("agent", "", content={"role": "user", "parts": results})
    await talk(client, path, [said("user", "q"), call, result])
    policy = {"strategy": "window", "perMessageOverhead": 10}
    found = await context(client, path, format="openai", policy=policy)
    assert len(found["messages"]) == 22
    contents = sum(len(one["content"] or "") // 4 for one in found["messages"])
    assert found["tokens"]["total"] >= 10 * 22 + contents
    plain = await context(client, path, policy=policy)
    assert found["tokens"]["total"] - plain["tokens"]["total"] == 10 * 19


async def test_an_event_of_which_not_even_a_mark_fits_is_omitted(
    client: httpx.AsyncClient,
) -> None:
    path = await new_path(client)
    await talk(client, path, [said("user", "hello " * 50)])
    policy = {"strategy": "window", "tokenLimit": 2}
    found = await context(client, path, format="text", policy=policy)
    assert (found["text"], found["truncatedEvents"]) == ("", [])
    assert found["coverage"]["omitted"] == [{"firstSeq": 1, "lastSeq": 1}]
    assert found["tokens"]["events"] == 0
    # With the end of the line, 12 characters.
    some = await context(client, path, format="text", policy={**policy, "tokenLimit": 3})
    assert some["text"] == "Human: he \u2026"
    assert some["truncatedEvents"] == [{"seq": 1, "tokens": 3}]


async def test_a_text_fits_though_its_messages_would_not(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    for strategy in ("window", "agent_summary"):
        policy = {"strategy": strategy, "perMessageOverhead": 1_000, "tokenLimit": 1_500}
        asked = {"systemPrompt": "x", "pendingMessage": "y", "policy": policy}
        found = await context(client, path, format="text", **asked)
        assert (found["text"], found["summaryState"]) == ("x\nHuman: y", "current")
