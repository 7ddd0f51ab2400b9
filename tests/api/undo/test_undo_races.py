"""What happens to an undo while it runs: architecture, section 9."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import update
from typing_extensions import override

from app.adapters.db.session import Database
from app.adapters.llm.ports import Vectors
from app.kernel.clock import FixedClock
from app.kernel.errors import Aborted, FailedPrecondition, Reason
from app.memory.memories.store.tables import MemoryRow
from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, history, listed, ok, retrieved
from tests.support.locks import until_waiting
from tests.support.operations import create_memory, path_of
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.undo import ask, skipped, undo, undone


class MeddlingEmbedder(ScriptedEmbedder):
    """Lets something else happen right after its next call."""

    meddle: Callable[[], Awaitable[object]] | None = None

    @override
    async def embed(self, texts: Sequence[str]) -> Vectors:
        found = await super().embed(texts)
        act, self.meddle = self.meddle, None
        if act is not None:
            await act()
        return found


@pytest.fixture
async def embedder() -> AsyncIterator[MeddlingEmbedder]:
    meddling = MeddlingEmbedder()
    yield meddling
    await meddling.close()


async def _purged(client: httpx.AsyncClient) -> tuple[str, str, Json]:
    """Purge two memories; return their paths and the operation."""
    tea, milk = [path_of((await create_memory(client, fact))["name"]) for fact in ("tea", "milk")]
    body = {"filter": 'fact=~".*"', "force": True}
    return tea, milk, ok(await client.post("/memories:purge", json=body))


def _id(path: str) -> str:
    return path.rpartition("/")[2]


async def test_a_memory_that_changes_before_the_write_is_left_alone(
    client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder
) -> None:
    tea, milk, purge = await _purged(client)

    async def meddle() -> None:
        first = (await history(client, tea))[-1]["name"]
        ok(await client.post(f"{tea}:rollback", json={"targetRevisionId": first}))
        ok(await client.patch(tea, json={"fact": "green tea"}))

    queued = ok(await ask(client, purge["name"]))
    embedder.meddle = meddle
    await runner.run_pending()
    done = ok(await client.get(path_of(queued["name"])))
    assert undone(done) == {_id(milk): "RESTORED"}
    assert skipped(done) == {_id(tea): "CHANGED_SINCE"}
    assert sorted(await listed(client)) == ["green tea", "milk"]


async def test_a_memory_that_is_erased_before_the_write_is_told_by_its_absence(
    client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder
) -> None:
    tea, milk, purge = await _purged(client)
    queued = ok(await ask(client, purge["name"]))
    embedder.meddle = lambda: client.delete(tea, params={"permanent": True})
    await runner.run_pending()
    done = ok(await client.get(path_of(queued["name"])))
    assert undone(done) == {_id(milk): "RESTORED"}
    assert await listed(client) == ["milk"]


async def test_it_waits_for_who_holds_a_memory_and_sees_what_it_did(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    path = path_of((await create_memory(client, "tea"))["name"])
    updated = ok(await client.patch(path, json={"description": "hot"}))
    queued = ok(await ask(client, updated["name"]))
    async with database.engine.begin() as other:
        mine = update(MemoryRow).where(MemoryRow.engine_id == 1)
        await other.execute(mine.values(version=MemoryRow.version + 1))
        running = asyncio.create_task(runner.run_pending())
        await until_waiting(database)
    await running
    done = ok(await client.get(path_of(queued["name"])))
    assert skipped(done) == {_id(path): "CHANGED_SINCE"}


async def test_cancelled_while_it_embeds_it_writes_nothing(
    client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder
) -> None:
    _, _, purge = await _purged(client)
    queued = ok(await ask(client, purge["name"]))
    embedder.meddle = lambda: client.post(f"{path_of(queued['name'])}:cancel")
    await runner.run_pending()
    done = ok(await client.get(path_of(queued["name"])))
    assert done["error"]["code"] == 1
    assert await listed(client) == []
    await undo(client, runner, purge["name"])
    assert sorted(await retrieved(client)) == ["milk", "tea"]


async def test_a_model_that_refuses_leaves_everything_as_it_was(
    client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder
) -> None:
    _, _, purge = await _purged(client)
    queued = ok(await ask(client, purge["name"]))
    embedder.failure = FailedPrecondition("The model refuses.", Reason.MODEL_REFUSED)
    await runner.run_pending()
    failed = ok(await client.get(path_of(queued["name"])))
    assert failed["error"]["details"][0]["reason"] == Reason.MODEL_REFUSED
    assert await listed(client) == []
    embedder.failure = None
    assert len(undone(await undo(client, runner, purge["name"]))) == 2


async def test_a_clash_with_another_transaction_is_tried_again_later(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock, embedder: MeddlingEmbedder
) -> None:
    _, _, purge = await _purged(client)
    queued = ok(await ask(client, purge["name"]))
    embedder.failure = Aborted("A concurrent change won; retry.", Reason.CONCURRENT_CHANGE)
    await runner.run_pending()
    assert not ok(await client.get(path_of(queued["name"])))["done"]
    embedder.failure = None
    clock.advance(timedelta(seconds=10))
    await runner.run_pending()
    assert len(undone(ok(await client.get(path_of(queued["name"]))))) == 2


async def test_two_undos_at_once_put_each_memory_back_once(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    tea, milk, purge = await _purged(client)
    queued = [ok(await ask(client, purge["name"])) for _ in range(2)]
    await asyncio.gather(runner.run_pending(), runner.run_pending())
    found = [ok(await client.get(path_of(one["name"]))) for one in queued]
    assert sorted(len(undone(one)) for one in found) == [0, 2]
    assert sorted(len(skipped(one)) for one in found) == [0, 2]
    for path in (tea, milk):
        actions = [one["action"] for one in await history(client, path)]
        assert actions == ["ROLLED_BACK", "DELETED", "CREATED"]
