"""The undo of an operation on many memories, which is read and written in batches."""

import time
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.names import EngineName
from app.kernel.tuning import Tuning
from app.memory.memories.schemas.memories import DEFAULT_MEMORY_TYPE
from app.memory.memories.store import ledger
from app.memory.memories.store.changes import ChangeContext, Creation
from app.memory.memories.store.vectors import Vector
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.support.bank import ENGINE, Json, listed, ok, retrieved, roll_back
from tests.support.operations import USER, create_memory, path_of
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.undo import skipped, undo, undone

MANY = 1_000
_SECONDS = 10
"""It takes about one; the rest is for a machine that has much else to do."""
_EVERYTHING = {"filter": 'fact=~".*"', "force": True}


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """The settings, changed as a test's indirect parameter says."""
    return settings.model_copy(update=getattr(request, "param", {}))


async def _fill(database: Database, clock: FixedClock, embedder: ScriptedEmbedder) -> None:
    facts = [f"Fact number {number}" for number in range(MANY)]
    vectors = await embedder.embed(facts)
    writing = ChangeContext(
        engine=EngineName.parse(ENGINE),
        now=clock.now(),
        operation_id="1",
        caller=None,
        model_id=embedder.model_id,
        recovery=timedelta(hours=48),
        revision_expire_time=clock.now() + timedelta(days=365),
    )
    wanted = [
        Creation(None, USER, DEFAULT_MEMORY_TYPE, {"fact": fact}, None, Vector(vector))
        for fact, vector in zip(facts, vectors, strict=True)
    ]
    async with database.transaction() as session:
        await ledger.apply(session, writing, wanted)


async def _purge(client: httpx.AsyncClient) -> Json:
    return ok(await client.post("/memories:purge", json=_EVERYTHING))


@pytest.mark.alone
async def test_a_large_purge_is_undone_in_seconds(
    client: httpx.AsyncClient,
    runner: Runner,
    clock: FixedClock,
    database: Database,
    embedder: ScriptedEmbedder,
) -> None:
    await _fill(database, clock, embedder)
    purge = await _purge(client)
    assert purge["response"]["purgeCount"] == MANY
    embedder.calls.clear()
    begun = time.perf_counter()
    done = await undo(client, runner, purge["name"])
    took = time.perf_counter() - begun
    print(f"undid {MANY} deletions in {took:.2f} s")
    assert took < _SECONDS
    assert list(undone(done).values()) == ["RESTORED"] * MANY
    # Not all at once: whoever cancels is heard in between.
    assert max(map(len, embedder.calls)) < MANY
    assert len(await listed(client, pageSize=1000)) == MANY
    again = await undo(client, runner, done["name"])
    assert list(undone(again).values()) == ["DELETED"] * MANY
    assert await listed(client) == []


@pytest.mark.parametrize(
    "settings",
    [{"tuning": Tuning(undo_embedded_memories=4, database_transaction_max_seconds=1)}],
    indirect=True,
)
async def test_an_undo_of_very_many_is_not_limited_and_leaves_vectors_for_later(
    client: httpx.AsyncClient, runner: Runner, database: Database, embedder: ScriptedEmbedder
) -> None:
    for number in range(5):
        await create_memory(client, f"fact {number}")
    purge = await _purge(client)
    embedder.calls.clear()
    done = await undo(client, runner, purge["name"])
    assert list(undone(done).values()) == ["RESTORED"] * 5
    assert embedder.calls == []
    async with database.snapshot() as session:
        waiting = await session.execute(text("select count(*) from unembedded_memories"))
        assert waiting.scalar_one() == 5


@pytest.mark.parametrize("settings", [{"sweep_batch_rows": 2}], indirect=True)
async def test_each_batch_is_judged_by_itself_and_none_is_left_out(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    facts = [f"fact {number}" for number in range(7)]
    paths = [path_of((await create_memory(client, fact))["name"]) for fact in facts]
    purge = await _purge(client)
    for path in paths[1:6:2]:
        revision = ok(await client.get(f"{path}/revisions"))["memoryRevisions"][-1]
        ok(await roll_back(client, path, revision["name"]))
    done = await undo(client, runner, purge["name"])
    ids = [path.rpartition("/")[2] for path in paths]
    assert undone(done) == dict.fromkeys(ids[0::2], "RESTORED")
    assert skipped(done) == dict.fromkeys(ids[1::2], "CHANGED_SINCE")
    assert sorted(await retrieved(client)) == facts


@pytest.mark.parametrize("settings", [{"sweep_batch_rows": 2}], indirect=True)
async def test_memories_that_an_undo_named_and_that_were_erased_are_all_told(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    paths = [path_of((await create_memory(client, f"fact {n}"))["name"]) for n in range(6)]
    done = await undo(client, runner, (await _purge(client))["name"])
    for path in paths[:5]:
        ok(await client.delete(path, params={"permanent": True}))
    again = await undo(client, runner, done["name"])
    ids = [path.rpartition("/")[2] for path in paths]
    assert undone(again) == {ids[5]: "DELETED"}
    assert skipped(again) == dict.fromkeys(ids[:5], "ERASED")
