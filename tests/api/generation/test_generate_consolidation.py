"""Consolidation inside one scope: wire specification, section 8.3; issue, section 3."""

from datetime import timedelta

import httpx
import pytest

from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.support.bank import GONE, configure, history, id_of, listed, ok, refusal, roll_back
from tests.support.generation import actions, changes, given, run, said
from tests.support.operations import create_memory, path_of

TEA = "I like green tea."
MAX_FORGETS = 5
SOURCES = pytest.mark.parametrize("source", [said(TEA), given(TEA)], ids=["said", "given"])


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"generation_max_forgets": MAX_FORGETS})


@SOURCES
async def test_the_same_input_twice_adds_no_memory_only_a_revision(
    client: httpx.AsyncClient, clock: FixedClock, runner: Runner, source: dict[str, object]
) -> None:
    (created,) = await changes(client, runner, source)
    path = path_of(created["memory"]["name"])
    (first,) = await history(client, path)
    clock.advance(timedelta(minutes=1))
    assert await changes(client, runner, source) == [
        {"memory": created["memory"], "action": "UPDATED", "previousRevision": first["name"]}
    ]
    assert await listed(client) == [TEA]
    newest, _ = await history(client, path)
    assert (newest["action"], newest["fact"]) == ("UPDATED", TEA)
    assert ok(await client.get(path))["updateTime"] == "2026-01-15T12:01:00Z"


async def test_a_created_memory_is_a_candidate_at_once(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    memory = await create_memory(client, TEA, description="mine")
    (updated,) = await changes(client, runner, said("i LIKE green tea!"))
    assert (updated["action"], updated["memory"]["name"]) == ("UPDATED", memory["name"])
    assert ok(await client.get(path_of(memory["name"])))["description"] == "mine"


async def test_a_contradiction_updates_and_can_be_undone(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    (created,) = await changes(client, runner, said("I live in Paris."))
    (updated,) = await changes(client, runner, said("I live in Berlin."))
    assert updated["action"] == "UPDATED"
    assert updated["memory"] == created["memory"]
    newest, oldest = ok(await client.get("/operations"))["operations"]
    assert (newest["metadata"]["updatedCount"], oldest["metadata"]["createdCount"]) == (1, 1)
    path = path_of(created["memory"]["name"])
    assert await listed(client) == ["I live in Berlin."]
    ok(await roll_back(client, path, id_of({"name": updated["previousRevision"]})))
    assert await listed(client) == ["I live in Paris."]


async def test_within_one_conversation_the_later_statement_wins(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    source = said("I live in Paris.", "What do you know?", "I live in Berlin.")
    assert await actions(client, runner, source) == ["CREATED"]
    assert await listed(client) == ["I live in Berlin."]


async def test_a_request_to_forget_deletes_recoverably(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    (created,) = await changes(client, runner, said(TEA))
    await changes(client, runner, said("I live in Berlin."))
    path = path_of(created["memory"]["name"])
    (first,) = await history(client, path)
    assert await changes(client, runner, said("Please forget that I like green tea.")) == [
        {"memory": created["memory"], "action": "DELETED", "previousRevision": first["name"]}
    ]
    assert refusal(await client.get(path)) == GONE
    assert await listed(client) == ["I live in Berlin."]
    newest, _ = await history(client, path)
    assert (newest["action"], newest.get("fact")) == ("DELETED", "")
    ok(await roll_back(client, path, id_of(first)))
    assert TEA in await listed(client)


async def test_a_request_to_forget_what_is_not_there_does_nothing(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await create_memory(client, TEA)
    assert await actions(client, runner, said("Please forget that I own a boat.")) == []
    assert await listed(client) == [TEA]


async def test_other_scopes_are_never_touched(client: httpx.AsyncClient, runner: Runner) -> None:
    await create_memory(client, TEA, {"user_id": "7"})
    await create_memory(client, TEA, {"user_id": "42", "app": "x"})
    assert await actions(client, runner, said(TEA)) == ["CREATED"]
    assert await actions(client, runner, said("Please forget that I like green tea.")) == [
        "DELETED"
    ]
    assert await listed(client) == [TEA, TEA]


async def test_deleted_and_expired_memories_are_no_candidates(
    client: httpx.AsyncClient, clock: FixedClock, runner: Runner
) -> None:
    ok(await client.delete(path_of((await create_memory(client, TEA))["name"])))
    await create_memory(client, TEA, ttl="60s")
    clock.advance(timedelta(seconds=60))
    assert await actions(client, runner, said(TEA)) == ["CREATED"]


@SOURCES
async def test_disabled_consolidation_makes_every_result_new(
    client: httpx.AsyncClient, runner: Runner, source: dict[str, object]
) -> None:
    memory = await create_memory(client, TEA)
    for _ in range(2):
        found = await changes(client, runner, source, disableConsolidation=True)
        assert [one["action"] for one in found] == ["CREATED"]
    assert await listed(client) == [TEA] * 3
    assert len(await history(client, path_of(memory["name"]))) == 1


async def test_generations_of_one_scope_run_one_after_another(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    body = {"scope": {"user_id": "42"}, **said(TEA)}
    started = [ok(await client.post("/memories:generate", json=body)) for _ in range(3)]
    assert await runner.run_pending() == 3
    done = [ok(await client.get(path_of(one["name"]))) for one in started]
    found = [one["response"]["generatedMemories"][0]["action"] for one in done]
    assert found == ["CREATED", "UPDATED", "UPDATED"]


async def test_deletions_of_one_call_are_capped(client: httpx.AsyncClient, runner: Runner) -> None:
    for number in range(8):
        await create_memory(client, f"I like zebra number {number}.")
    operation = await run(client, runner, said("Please forget that I like zebra number."))
    changed = operation["response"]["generatedMemories"]
    assert [one["action"] for one in changed] == ["DELETED"] * MAX_FORGETS
    (unmet,) = operation["metadata"]["unmetForgetRequests"]
    left = {memory["name"] for memory in ok(await client.get("/memories"))["memories"]}
    assert (unmet["reason"], unmet["hasMore"]) == ("TOO_MANY", True)
    assert set(unmet["nearest"]) == left


async def test_a_bank_s_topics_do_not_hinder_forgetting(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    topic = {"managed_memory_topic": {"managed_topic_enum": "USER_PERSONAL_INFO"}}
    await configure(client, customizationConfigs=[{"memory_topics": [topic]}])
    await create_memory(client, TEA)
    found = await actions(client, runner, said("Please forget that I like green tea."))
    assert found == ["DELETED"]
