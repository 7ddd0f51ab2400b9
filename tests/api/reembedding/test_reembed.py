"""`POST {E}:reembed`: another model's vectors, while the former ones serve until all are there."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import httpx
import pytest

from app.adapters.db.spread import RowSearch
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason, Unavailable
from app.kernel.wire.scalars import format_timestamp
from app.memory.reembedding import jobs
from app.memory.reembedding.service import Backlog
from app.platform.engines.store import repository as engines
from tests.support.bank import ENGINE_URL, Json, configure, ok, retrieved, roll_back
from tests.support.embedding import (
    AFTER_ALL_WRITES,
    NEW,
    OLD,
    Changed,
    NewEmbedder,
    changed,
    stored_vectors,
    wrong_vectors,
)
from tests.support.operations import create_memory, path_of
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.sweeping import sweep

FACTS = ["I like tea.", "I have a dog.", "I live in Rome.", "I play chess.", "I speak Dutch."]
QUERY = {"similaritySearchParams": {"searchQuery": "Which one?", "topK": 1}}


@pytest.fixture
async def bank(client: httpx.AsyncClient, embedder: ScriptedEmbedder) -> dict[str, Json]:
    """Memories embedded by the former model, by their facts; to it, chess answers the query."""
    # Searches go by vectors alone, so that these tell which serve.
    await configure(client, similaritySearchConfig={"ranking": "vector"})
    embedder.place("Which one?", near="I play chess.", distance=0.1)
    return {fact: await create_memory(client, fact) for fact in FACTS}


@pytest.fixture
def now(resources: Resources, embedder: ScriptedEmbedder) -> Changed:
    """The process with another model in its settings; to it, Rome answers the query."""
    new = NewEmbedder()
    new.place("Which one?", near="I live in Rome.", distance=0.1)
    return changed(resources, new, embedder)


@pytest.mark.usefixtures("bank")
async def test_until_it_ends_the_former_model_serves_and_then_the_new_one(
    resources: Resources, now: Changed
) -> None:
    assert await retrieved(now.client, **QUERY) == ["I play chess."]
    await create_memory(now.client, "I am new.")
    queued = await now.reembed()
    assert await retrieved(now.client, **QUERY) == ["I play chess."]
    assert (queued["metadata"]["fromModel"], queued["metadata"]["toModel"]) == (OLD, NEW)
    assert set(map(tuple, (await stored_vectors(resources)).values())) == {(OLD,)}

    await now.runner.run_pending()

    done = await now.operation(queued["name"])
    assert done["response"]["embeddingModel"] == NEW
    told = [done["metadata"][key] for key in ("embeddedCount", "totalCount", "percent")]
    assert told == [6, 6, 100]
    assert await retrieved(now.client, **QUERY) == ["I live in Rome."]
    await create_memory(now.client, "I am newer.")
    vectors = await stored_vectors(resources)
    assert vectors["I am newer."] == [NEW]
    assert await wrong_vectors(resources, now.embedder) == []


@pytest.mark.usefixtures("bank")
async def test_vectors_of_the_former_model_are_removed_after_it(
    resources: Resources, now: Changed, clock: FixedClock
) -> None:
    await now.reembedded()
    assert set(map(len, (await stored_vectors(resources)).values())) == {2}
    for _ in range(2):
        await sweep(now.resources, "stale vectors")
    assert set(map(tuple, (await stored_vectors(resources)).values())) == {(NEW,)}
    # A write that began under it may still end.
    async with resources.db.snapshot() as session:
        assert len(await engines.find_with_stale_vectors(session, RowSearch(10))) == 1
    clock.advance(AFTER_ALL_WRITES)
    await sweep(now.resources, "stale vectors")
    async with resources.db.snapshot() as session:
        assert await engines.find_with_stale_vectors(session, RowSearch(10)) == []


@pytest.mark.parametrize("path", ["reasoningEngines/1", "memoryBanks/1"])
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_every_spelling_of_the_engine_is_served(
    now: Changed, path: str, version: str
) -> None:
    answer = ok(await now.client.post(f"http://test/{version}/{path}:reembed"))
    await now.runner.run_pending()
    assert (await now.operation(answer["name"]))["done"]


async def test_the_same_request_id_queues_it_once(now: Changed) -> None:
    url = f"{ENGINE_URL}:reembed"
    names = {ok(await now.client.post(url, params={"requestId": "r"}))["name"] for _ in range(2)}
    assert len(names) == 1


async def test_an_engine_without_memories_has_the_new_model_at_once(
    resources: Resources, now: Changed
) -> None:
    done = await now.reembedded()
    assert done["metadata"]["percent"] == 100
    async with resources.db.snapshot() as session:
        assert await engines.find_model(session, 1) == NEW


async def test_what_is_written_meanwhile_is_right_in_the_end(
    resources: Resources, bank: dict[str, Json], now: Changed
) -> None:
    paths = {fact: path_of(memory["name"]) for fact, memory in bank.items()}
    oldest = sorted(FACTS, key=lambda fact: bank[fact]["name"])

    async def meddle(call: int) -> None:
        # Behind, inside and ahead of the batch whose vectors are about to be stored.
        match call:
            case 1:
                ok(await now.client.patch(paths[oldest[0]], json={"fact": "In the batch."}))
                ok(await now.client.delete(paths[oldest[1]]))
                ok(await now.client.patch(paths[oldest[4]], json={"displayName": "Ahead"}))
            case 2:
                await create_memory(now.client, "A new one.")
                history = ok(await now.client.get(f"{paths[oldest[1]]}/revisions"))
                first = history["memoryRevisions"][-1]["name"].rpartition("/")[2]
                ok(await roll_back(now.client, paths[oldest[1]], first))
                assert await retrieved(now.client, **QUERY) == ["I play chess."]
            case 3:
                ok(await now.client.patch(paths[oldest[0]], json={"fact": "Behind it."}))
                ok(await now.client.delete(paths[oldest[2]], params={"permanent": "true"}))
            case _:
                pass

    now.embedder.meddle = meddle
    done = await now.reembedded()

    assert done["response"]["embeddingModel"] == NEW
    assert await wrong_vectors(resources, now.embedder) == []
    facts = {"Behind it.", oldest[1], oldest[3], oldest[4], "A new one."}
    vectors = await stored_vectors(resources)
    assert vectors.keys() == facts
    assert vectors["Behind it."] == sorted([NEW, OLD])


async def test_a_changed_fact_keeps_no_vector_of_any_model(
    resources: Resources, bank: dict[str, Json], now: Changed
) -> None:
    path = path_of(bank["I like tea."]["name"])
    now.embedder.meddle = _cancelling(now, after=3)
    await now.reembedded()
    assert (await stored_vectors(resources))["I like tea."] == [OLD, NEW]
    ok(await now.client.patch(path, json={"fact": "I like milk."}))
    assert (await stored_vectors(resources))["I like milk."] == [OLD]


def _cancelling(now: Changed, after: int) -> Callable[[int], Awaitable[None]]:
    async def meddle(call: int) -> None:
        if call == after:
            (operation,) = [
                one
                for one in ok(await now.client.get("/operations"))["operations"]
                if not one["done"]
            ]
            ok(await now.client.post(path_of(operation["name"]) + ":cancel"))

    return meddle


@pytest.mark.usefixtures("bank")
async def test_cancelled_it_changes_nothing_and_the_next_goes_on(
    resources: Resources, now: Changed
) -> None:
    now.embedder.meddle = _cancelling(now, after=2)
    cancelled = await now.reembedded()
    assert cancelled["error"]["code"] == 1
    assert await retrieved(now.client, **QUERY) == ["I play chess."]
    await create_memory(now.client, "I am new.")
    assert (await stored_vectors(resources))["I am new."] == [OLD]
    # The sweep leaves alone what the next one will use.
    await sweep(now.resources, "stale vectors")
    now.embedder.meddle = None
    now.embedder.calls.clear()

    await now.reembedded()

    assert sorted(now.embedder.texts) == sorted(["I am new.", "I speak Dutch."])
    assert await retrieved(now.client, **QUERY) == ["I live in Rome."]


@pytest.mark.usefixtures("bank")
async def test_waiting_it_is_cancelled_at_once(now: Changed) -> None:
    name = (await now.reembed())["name"]
    ok(await now.client.post(f"{path_of(name)}:cancel"))
    await now.runner.run_pending()
    assert (await now.operation(name))["error"]["code"] == 1
    assert now.embedder.texts == []


@pytest.mark.usefixtures("bank")
async def test_a_second_one_waits_for_the_first_and_finds_all_done(now: Changed) -> None:
    first, second = [(await now.reembed())["name"] for _ in range(2)]
    await now.runner.run_pending()
    for name in (first, second):
        assert (await now.operation(name))["response"]["embeddingModel"] == NEW
    assert sorted(now.embedder.texts) == sorted(FACTS)


@pytest.mark.usefixtures("bank")
async def test_while_the_new_model_is_away_it_waits_and_then_goes_on(
    now: Changed, clock: FixedClock
) -> None:
    async def meddle(call: int) -> None:
        if call == 2:
            raise Unavailable("Away.", Reason.MODEL_UNAVAILABLE, retry_after_seconds=20)

    now.embedder.meddle = meddle
    waiting = await now.reembedded()
    assert not waiting["done"]
    until = format_timestamp(clock.now() + timedelta(seconds=20))
    assert waiting["metadata"]["postponedUntil"] == until
    assert waiting["metadata"]["embeddedCount"] == 2
    assert await now.runner.run_pending() == 0
    now.embedder.meddle = None
    clock.advance(timedelta(seconds=20))

    await now.runner.run_pending()

    done = await now.operation(waiting["name"])
    assert done["response"]["embeddingModel"] == NEW
    assert "postponedUntil" not in done["metadata"]
    assert len(now.embedder.texts) == len(FACTS) + 2


@pytest.mark.usefixtures("bank")
async def test_a_worker_without_the_model_leaves_it_to_another(
    resources: Resources, now: Changed, clock: FixedClock, embedder: ScriptedEmbedder
) -> None:
    name = (await now.reembed())["name"]
    third = NewEmbedder()
    third.model_id = "scripted/3"
    await changed(resources, third, embedder).runner.run_pending()
    assert not (await now.operation(name))["done"]
    clock.advance(timedelta(minutes=1))
    await now.runner.run_pending()
    assert (await now.operation(name))["response"]["embeddingModel"] == NEW


@pytest.mark.usefixtures("bank")
async def test_where_memories_keep_changing_the_last_few_wait_for_their_vectors(
    resources: Resources, now: Changed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "TRIES", 3)

    async def meddle(call: int) -> None:
        await create_memory(now.client, f"New {call}.")

    monkeypatch.setattr(jobs, "OVERLAP", timedelta())
    now.embedder.meddle = meddle
    done = await now.reembedded()
    now.embedder.meddle = None
    assert done["response"]["embeddingModel"] == NEW
    assert len(await wrong_vectors(resources, now.embedder)) > 0
    await Backlog.of(now.resources).run()
    assert await wrong_vectors(resources, now.embedder) == []


@pytest.mark.usefixtures("bank")
async def test_where_too_much_is_written_it_goes_on_later(
    resources: Resources,
    embedder: ScriptedEmbedder,
    clock: FixedClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs, "TRIES", 1)
    busy = changed(resources, NewEmbedder(), embedder, sweep_batch_rows=1)

    async def meddle(call: int) -> None:
        await create_memory(busy.client, f"New {call}.")

    busy.embedder.meddle = meddle
    waiting = await busy.reembedded()
    assert not waiting["done"]
    assert "postponedUntil" in waiting["metadata"]
    busy.embedder.meddle = None
    clock.advance(timedelta(minutes=1))
    await busy.runner.run_pending()
    assert (await busy.operation(waiting["name"]))["response"]["embeddingModel"] == NEW


async def test_a_deleted_engine_ends_it(bank: dict[str, Json], now: Changed) -> None:
    del bank

    async def meddle(call: int) -> None:
        if call == 1:
            ok(await now.client.delete(ENGINE_URL, params={"force": "true"}))

    now.embedder.meddle = meddle
    done = await now.reembedded()
    assert done["error"]["details"][0]["reason"] == Reason.RESOURCE_NOT_FOUND


async def test_a_model_of_another_length_than_before_is_not_brought(
    resources: Resources, now: Changed, embedder: ScriptedEmbedder
) -> None:
    await now.reembedded()
    shorter = changed(resources, NewEmbedder(8), embedder)
    done = await shorter.reembedded()
    assert done["error"]["details"][0]["reason"] == Reason.EMBEDDING_LENGTH_CHANGED


@pytest.mark.usefixtures("bank")
async def test_a_third_model_takes_the_place_of_one_that_was_never_brought(
    resources: Resources, now: Changed, embedder: ScriptedEmbedder
) -> None:
    now.embedder.meddle = _cancelling(now, after=2)
    await now.reembedded()
    third = NewEmbedder()
    third.model_id = "scripted/3"
    later = changed(resources, third, embedder)
    await later.reembedded()
    for _ in range(2):
        await sweep(later.resources, "stale vectors")
    assert set(map(tuple, (await stored_vectors(resources)).values())) == {("scripted/3",)}


@pytest.mark.usefixtures("bank")
async def test_reembedding_with_the_serving_model_removes_what_a_cancelled_one_left(
    resources: Resources, now: Changed, embedder: ScriptedEmbedder
) -> None:
    now.embedder.meddle = _cancelling(now, after=2)
    await now.reembedded()
    back = changed(resources, _as_new(embedder))
    done = await back.reembedded()
    assert done["metadata"]["embeddedCount"] == len(FACTS)
    for _ in range(2):
        await sweep(back.resources, "stale vectors")
    assert set(map(tuple, (await stored_vectors(resources)).values())) == {(OLD,)}


def _as_new(embedder: ScriptedEmbedder) -> NewEmbedder:
    found = NewEmbedder()
    found.model_id = embedder.model_id
    return found
