"""What happens to a generation while it runs."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import httpx
import pytest
from typing_extensions import override

from app.adapters.llm.ports import Vectors
from app.platform.operations.services.runner import Runner
from tests.support.bank import GONE, Json, history, listed, ok, refusal, roll_back
from tests.support.generation import given, said, start
from tests.support.operations import create_memory, path_of
from tests.support.scripted_models import ScriptedEmbedder

TEA = "I like green tea."
ENGINE_URL = "http://test/v1/reasoningEngines/1"
# A generation embeds its candidates to plan, and what it planned before it writes.
PLANNED = 2


class MeddlingEmbedder(ScriptedEmbedder):
    """Lets something else happen right after some of its calls."""

    def __init__(self) -> None:
        super().__init__()
        self._meddle: Callable[[], Awaitable[object]] | None = None
        self._at: frozenset[int] = frozenset()
        self._seen = 0

    def meddle(self, at: Sequence[int], act: Callable[[], Awaitable[object]]) -> None:
        """Do `act` after the calls with these numbers, counted from now."""
        self._meddle, self._at, self._seen = act, frozenset(at), 0

    @override
    async def embed(self, texts: Sequence[str]) -> Vectors:
        found = await super().embed(texts)
        self._seen += 1
        if self._meddle is not None and self._seen in self._at:
            await self._meddle()
        return found


@pytest.fixture
async def embedder() -> AsyncIterator[MeddlingEmbedder]:
    meddling = MeddlingEmbedder()
    yield meddling
    await meddling.close()


async def _ended(client: httpx.AsyncClient, runner: Runner, path: str) -> Json:
    await runner.run_pending()
    return ok(await client.get(path))


async def test_a_change_between_plan_and_write_is_planned_for_again(
    client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder
) -> None:
    path = path_of((await create_memory(client, TEA))["name"])
    operation = await start(client, given(TEA))
    embedder.meddle([PLANNED], lambda: client.patch(path, json={"description": "meanwhile"}))
    done = await _ended(client, runner, operation)
    (change,) = done["response"]["generatedMemories"]
    assert change["action"] == "UPDATED"
    # Neither change is lost, and the answer names what came right before.
    newest, between, _ = await history(client, path)
    assert change["previousRevision"] == between["name"]
    assert (between["description"], newest["description"]) == ("meanwhile", "meanwhile")


async def test_a_deletion_between_plan_and_write_makes_a_new_memory(
    client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder
) -> None:
    memory = await create_memory(client, TEA)
    operation = await start(client, given(TEA))
    embedder.meddle([PLANNED], lambda: client.delete(path_of(memory["name"])))
    done = await _ended(client, runner, operation)
    (change,) = done["response"]["generatedMemories"]
    assert change["action"] == "CREATED"
    assert change["memory"]["name"] != memory["name"]
    assert await listed(client) == [TEA]


async def test_what_keeps_changing_ends_and_is_not_half_written(
    client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder
) -> None:
    path = path_of((await create_memory(client, TEA))["name"])
    operation = await start(client, given("I live in Oslo.", TEA))
    embedder.meddle(range(1, 100), lambda: client.patch(path, json={"description": "again"}))
    error = (await _ended(client, runner, operation))["error"]
    assert (error["code"], error["details"][0]["reason"]) == (10, "SCOPE_KEEPS_CHANGING")
    assert await listed(client) == [TEA]
    embedder.meddle([], lambda: client.get(path))
    again = await _ended(client, runner, await start(client, given("I live in Oslo.", TEA)))
    actions = [one["action"] for one in again["response"]["generatedMemories"]]
    assert sorted(actions) == ["CREATED", "UPDATED"]


async def test_a_rollback_and_a_generation_keep_both_changes(
    client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder
) -> None:
    path = path_of((await create_memory(client, "I live in Paris."))["name"])
    (first,) = await history(client, path)
    operation = await start(client, said("I live in Berlin."))
    embedder.meddle([PLANNED], lambda: roll_back(client, path, first["name"]))
    await _ended(client, runner, operation)
    actions = [one["action"] for one in await history(client, path)]
    assert actions == ["UPDATED", "ROLLED_BACK", "CREATED"]


async def test_an_engine_deleted_before_the_work_ends_it_with_an_error(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    operation = await start(client, given(TEA))
    ok(await client.delete(ENGINE_URL, params={"force": True}))
    done = await _ended(client, runner, operation)
    assert done["done"]
    assert "response" not in done
    assert done["error"]["code"] == 5
    assert TEA not in str(done)


async def test_an_engine_deleted_during_the_work_leaves_no_memory(
    client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder
) -> None:
    operation = await start(client, given(TEA))
    embedder.meddle([PLANNED], lambda: client.request("DELETE", ENGINE_URL, json={"force": True}))
    done = await _ended(client, runner, operation)
    assert done["error"]["code"] == 5
    assert refusal(await client.get("/memories")) == GONE


async def test_a_waiting_generation_is_cancelled_at_once(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    operation = await start(client, given(TEA))
    assert ok(await client.post(f"{operation}:cancel")) == {}
    cancelled = ok(await client.get(operation))
    assert (cancelled["done"], cancelled["error"]["code"]) == (True, 1)
    assert await runner.run_pending() == 0
    assert await listed(client) == []


@pytest.mark.parametrize("call", [1, PLANNED])
async def test_a_running_generation_stops_before_it_writes(
    client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder, call: int
) -> None:
    operation = await start(client, given(TEA))
    embedder.meddle([call], lambda: client.post(f"{operation}:cancel"))
    cancelled = await _ended(client, runner, operation)
    assert (cancelled["done"], cancelled["error"]["code"]) == (True, 1)
    assert await listed(client) == []


async def test_what_has_ended_cannot_be_cancelled(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    operation = await start(client, given(TEA))
    done = await _ended(client, runner, operation)
    assert ok(await client.post(f"{operation}:cancel")) == {}
    assert ok(await client.get(operation)) == done
    assert await listed(client) == [TEA]


async def test_an_embedder_s_failure_ends_in_an_error_and_no_memory(
    client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder
) -> None:
    # Never an empty success.
    operation = await start(client, given(TEA))
    embedder.failure = RuntimeError("broken")
    done = await _ended(client, runner, operation)
    embedder.failure = None
    assert done["error"]["code"] == 13
    assert "broken" not in str(done)
    assert await listed(client) == []
