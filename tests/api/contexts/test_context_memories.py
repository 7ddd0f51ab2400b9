"""Facts of the memory bank in contexts."""

from typing import Any

import httpx
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.language.sentences import CONTEXT_BEGIN, CONTEXT_END
from tests.support.bank import Json, refusal
from tests.support.contexts import HALF, context, exchange, of_exchanges, said, talk
from tests.support.keys import client_with, make_key
from tests.support.operations import create_memory
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.sessions import new_path

_TEA, _SEAT = "I drink tea.", "I sit at the window."
_LONG = "I like " + "very " * 60 + "long facts."


async def _bank(client: httpx.AsyncClient, embedder: ScriptedEmbedder) -> dict[str, str]:
    """Fill the bank of the user 42; return the names of memories by their facts."""
    for fact, distance in ((_LONG, 0.1), (_TEA, 0.2), (_SEAT, 0.3)):
        embedder.place(fact, near="What do I like?", distance=distance)
    facts = (_TEA, _SEAT, _LONG)
    return {fact: (await create_memory(client, fact))["name"] for fact in facts}


def _memories(found: Json) -> list[Json]:
    return [one for one in found["messages"] if one["source"]["kind"] == "memory"]


async def test_memories_come_after_the_events_and_are_named(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder
) -> None:
    names = await _bank(client, embedder)
    path = await of_exchanges(client, 1)
    asked = {"pendingMessage": "What do I like?", "includeMemories": {"topK": 2}}
    found = await context(client, path, **asked)
    assert [one["source"]["kind"] for one in found["messages"]] == [
        "event",
        "event",
        "memory",
        "pending",
    ]
    (block,) = _memories(found)
    assert block["source"] == {"kind": "memory", "memories": [names[_LONG], names[_TEA]]}
    lines = block["content"].splitlines()
    assert lines == [CONTEXT_BEGIN, f"- {_LONG}", f"- {_TEA}", CONTEXT_END]
    assert found["tokens"]["memories"] == -(-len(block["content"]) // 4)


async def test_memories_have_what_events_leave_and_none_is_cut(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder
) -> None:
    names = await _bank(client, embedder)
    path = await of_exchanges(client, 4)
    asked: dict[str, Any] = {"includeMemories": {"query": "What do I like?"}}
    for limit, kept in ((400, []), (410, []), (430, [_TEA, _SEAT]), (600, [_LONG, _TEA, _SEAT])):
        found = await context(client, path, tokenLimit=limit, **asked)
        assert found["tokens"]["events"] == 400
        assert found["tokens"]["total"] <= limit
        told = [name for one in _memories(found) for name in one["source"]["memories"]]
        assert told == [names[fact] for fact in kept]
    few = {"query": "What do I like?", "maxTokens": 30}
    (block,) = _memories(await context(client, path, includeMemories=few))
    assert block["source"]["memories"] == [names[_TEA], names[_SEAT]]


async def test_without_a_pending_message_the_users_last_words_are_looked_for(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder
) -> None:
    names = await _bank(client, embedder)
    path = await new_path(client)
    await exchange(client, path, "Something else.", "Yes.")
    await exchange(client, path, "What do I like?", "Let me see.")
    await talk(client, path, [said("agent", HALF)])
    found = await context(client, path, includeMemories={"query": "auto", "topK": 1})
    (block,) = _memories(found)
    assert block["source"]["memories"] == [names[_LONG]]
    assert ["What do I like?"] in embedder.calls


async def test_with_nothing_to_ask_for_there_are_no_memories(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder
) -> None:
    await _bank(client, embedder)
    path = await new_path(client)
    calls = len(embedder.calls)
    found = await context(client, path, includeMemories={})
    assert (_memories(found), len(embedder.calls)) == ([], calls)


async def test_memories_are_the_session_users_unless_a_scope_is_named(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder
) -> None:
    await _bank(client, embedder)
    other = await create_memory(client, "I am the other.", {"user_id": "7"})
    path = await new_path(client)
    asked = {"query": "What do I like?", "topK": 9}
    (own,) = _memories(await context(client, path, includeMemories=asked))
    assert len(own["source"]["memories"]) == 3
    named = {**asked, "scope": {"user_id": "7"}}
    (block,) = _memories(await context(client, path, includeMemories=named))
    assert block["source"]["memories"] == [other["name"]]


async def test_memories_need_the_permission_to_retrieve(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
) -> None:
    path = await of_exchanges(client, 1)
    secret = await make_key(database, clock.now(), permissions=["events.list", "sessions.update"])
    async with client_with(app, secret) as limited:
        assert (await limited.post(f"{path}:context", json={})).status_code == 200
        refused = await limited.post(f"{path}:context", json={"includeMemories": {}})
        assert refusal(refused) == (403, "PERMISSION_DENIED")
        assert "memories.retrieve" in refused.text


async def test_a_key_bound_to_another_user_finds_no_session(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
) -> None:
    await create_memory(client, "I am the other.", {"user_id": "7"})
    path = await of_exchanges(client, 1)
    for user, status in (("42", 200), ("7", 404)):
        conditions = {"user_id": [user]}
        secret = await make_key(database, clock.now(), "admin", scope_conditions=conditions)
        async with client_with(app, secret) as bound:
            asked = {"query": "x", "scope": {"user_id": "7"}}
            answer = await bound.post(f"{path}:context", json={"includeMemories": asked})
            assert answer.status_code == status
            assert "I am the other" not in answer.text
