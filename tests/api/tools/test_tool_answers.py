"""Answers of tools in unusual cases: repeated facts, masked texts, profiles, long histories."""

import asyncio
import re
from functools import partial

import httpx
import pytest
from fastapi import FastAPI

from app.conversation.recall.services import searching
from app.kernel.tools import ToolName
from app.platform.operations.services.runner import Runner
from app.surfaces.tools.calls import CALLS, ToolAnswer
from tests.conftest import ADMIN_KEY
from tests.support.bank import Json, configure, id_of, ok
from tests.support.errors import refusal
from tests.support.tools import SCOPE, call, made, mcp_call, while_working

_INSTRUMENTS = ("cello", "viola", "harp")
_PAUSE_SECONDS, _PAUSES = 0.02, 500


async def test_a_fact_that_is_given_twice_is_stored_once(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    facts = {"facts": ["I like tea.", "I like tea.", "I live in Oslo."]}
    told = ok(await while_working(runner, call(client, "remember", facts)))["result"]
    assert sorted(one["fact"] for one in told["memories"]) == ["I like tea.", "I live in Oslo."]
    assert told["not_stored"] == 0


async def test_the_end_of_an_operation_is_told_whatever_it_is(client: httpx.AsyncClient) -> None:
    facts = {"facts": ["I like tea."]}
    calling = asyncio.create_task(call(client, "remember", facts))
    operations: list[Json] = []
    for _ in range(_PAUSES):
        if operations:
            break
        await asyncio.sleep(_PAUSE_SECONDS)
        operations = ok(await client.get("operations")).get("operations", [])
    await client.post(f"operations/{id_of(operations[0])}:cancel", json={})
    told = ok(await calling)
    assert told["isError"] is True
    assert "cancelled" in told["text"]


async def test_a_part_of_a_list_does_not_stand_for_all(client: httpx.AsyncClient) -> None:
    empty = ok(await call(client, "list_memories"))
    assert empty["text"] == "No memories are stored for this scope."
    await made(client, "I like tea.")
    later = ok(await call(client, "list_memories", {"changed_since": "2026-01-16"}))
    assert later["text"] == "No memories, or no more."


async def test_a_text_is_told_as_it_was_stored(client: httpx.AsyncClient) -> None:
    memory = await made(client, "I like tea.")
    await configure(client, privacyConfig={"rules": [{"kind": "EMAIL", "action": "MASK"}]})
    arguments = {"id": memory, "fact": "Write to anna.k@example.com."}
    told = ok(await call(client, "update_memory", arguments))
    assert told["result"]["after"] == "Write to [EMAIL]."
    assert "anna.k" not in told["text"]


async def test_a_field_of_a_profile_has_no_text_to_replace(client: httpx.AsyncClient) -> None:
    schema = {"type": "object", "properties": {"employer": {"type": "string"}}}
    schemas = [{"schemaConfigs": [{"id": "person", "schema": schema}]}]
    await configure(client, structuredMemoryConfigs=schemas)
    content = {"schemaId": "person", "data": {"employer": "Initech"}}
    body = {"scope": SCOPE, "structuredContent": content, "memoryType": "STRUCTURED_PROFILE"}
    created = ok(await client.post("memories", json=body))
    memory = created["response"]["name"].rpartition("/")[2]
    told = ok(await call(client, "update_memory", {"id": memory, "fact": "I work at Globex."}))
    assert told["isError"] is True
    assert "learn_from_conversation" in told["text"]
    assert "fact" not in ok(await client.get(f"memories/{memory}"))
    await call(client, "forget_memory", {"ids": [memory]})
    shown = ok(await call(client, "memory_history", {"id": memory}))
    assert [one["fact"] for one in shown["result"]["revisions"]] == ["", '{"employer": "Initech"}']


async def test_a_field_that_was_left_as_it_was_is_told(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    schema = {"type": "object", "properties": {"employer": {"type": "string"}}}
    schemas = [{"schemaConfigs": [{"id": "person", "schema": schema}]}]
    facts_off = [{"disableNaturalLanguageMemories": True}]
    await configure(client, structuredMemoryConfigs=schemas, customizationConfigs=facts_off)
    for text, expected in (
        ("I work at Initech.", "Initech"),
        ("I left Globex.", "Not stored: 1 (NOT_PRESENT 1)."),
    ):
        asked = {"messages": [{"role": "user", "text": text}]}
        told = ok(await while_working(runner, call(client, "learn_from_conversation", asked)))
        assert expected in told["text"]


async def test_lines_that_were_read_before_are_told(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    asked = {"messages": [{"role": "user", "text": f"I play the {what}."} for what in _INSTRUMENTS]}
    call_of = partial(call, client, "learn_from_conversation")
    first = ok(await while_working(runner, call_of(asked)))
    assert "read_before" not in first["result"]
    again = ok(await while_working(runner, call_of(asked)))
    assert again["result"]["read_before"] == 3
    assert again["text"].endswith("\nLines that were read before, and change nothing: 3.")


async def test_a_search_that_did_not_reach_all_conversations_says_so(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for session in ("first", "second"):
        await client.post("sessions", params={"sessionId": session}, json={"userId": "42"})
        exchange = {"input": f"The {session} parcel is green.", "output": "Noted."}
        await client.post(f"sessions/{session}/exchanges", json=exchange)
    whole = ok(await call(client, "recall_conversation", {"query": "parcel"}))
    assert whole["result"].keys() == {"passages"}
    monkeypatch.setattr(searching, "MAX_EVENTS", 1)
    monkeypatch.setattr(searching, "PAGE", 1)
    part = ok(await call(client, "recall_conversation", {"query": "parcel"}))
    assert part["result"]["is_complete"] is False
    assert part["text"].endswith("\nOlder conversations were not searched.")


@pytest.mark.parametrize(
    "engine", ["reasoningEngines/99", "projects/other/locations/local/reasoningEngines/1"]
)
async def test_an_engine_that_is_not_there_is_an_error_of_the_request(
    client: httpx.AsyncClient, engine: str
) -> None:
    """No model can mend the path."""
    path = f"http://test/v1/{engine}"
    body: Json = {"name": "list_memories", "scope": SCOPE}
    for answer in (
        await client.post(f"{path}/memoryTools:call", json=body),
        await client.get(f"{path}/memoryToolSpecs"),
    ):
        assert refusal(answer) == (404, "NOT_FOUND", "RESOURCE_NOT_FOUND")


async def test_a_fault_is_told_without_its_message(
    app: FastAPI, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may quote the text of a memory."""

    async def broken(*_: object) -> ToolAnswer:
        raise RuntimeError("I like tea.")

    monkeypatch.setitem(CALLS, ToolName.LIST_MEMORIES, broken)
    by_api = ok(await call(client, "list_memories"))
    by_mcp = await mcp_call(app, ADMIN_KEY, "list_memories", {}, path="/mcp?scope.user_id=42")
    assert (by_api["isError"], by_mcp["isError"]) == (True, True)
    for text in (by_api["text"], by_mcp["content"][0]["text"]):
        assert re.fullmatch(r"The service failed; request id [0-9a-f]+\.", text)


async def test_a_session_is_one_of_the_engine(client: httpx.AsyncClient) -> None:
    await client.post("sessions", params={"sessionId": "mine"}, json={"userId": "42"})
    exchange = {"input": "The parcel is green.", "output": "Noted."}
    await client.post("sessions/mine/exchanges", json=exchange)
    sessions = "projects/default/locations/local/reasoningEngines/{}/sessions/mine"
    asked = {"query": "parcel"}
    own = ok(await call(client, "recall_conversation", asked, session=sessions.format(1)))
    assert own["result"]["passages"][0]["session"] == "mine"
    other = await call(client, "recall_conversation", asked, session=sessions.format(2))
    assert refusal(other) == (400, "INVALID_ARGUMENT", "FIELD_INVALID")
