"""While the embedding model is away, writes are kept, and embedded when it is back."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

import httpx
import pytest
from typing_extensions import override

from app.adapters.llm.ports import Vectors
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import (
    BadGateway,
    DeadlineExceeded,
    FailedPrecondition,
    Reason,
    ResourceExhausted,
    ServiceError,
    Unavailable,
)
from app.memory.memories.store.tables import MemoryVectorRow, UnembeddedRow
from app.memory.reembedding.service import Backlog
from app.platform.operations.services.runner import Runner
from tests.support.bank import (
    ENGINE_URL,
    Json,
    count,
    history,
    id_of,
    listed,
    ok,
    refusal,
    retrieve,
    roll_back,
)
from tests.support.embedding import NewEmbedder, changed, stored_vectors, wrong_vectors
from tests.support.engines import FIRST
from tests.support.operations import create_memory, generate, path_of
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.undo import undo

AWAY = Unavailable("Away.", Reason.MODEL_UNAVAILABLE)
QUERY = {"similaritySearchParams": {"searchQuery": "I like tea."}}


class PickyEmbedder(ScriptedEmbedder):
    """Refuses whatever holds a text."""

    refused = "\x00"

    @override
    async def embed(self, texts: Sequence[str]) -> Vectors:
        if any(self.refused in text for text in texts):
            raise FailedPrecondition("No.", Reason.MODEL_REFUSED)
        return await super().embed(texts)


@pytest.fixture
async def embedder() -> AsyncIterator[ScriptedEmbedder]:
    picky = PickyEmbedder()
    yield picky
    await picky.close()


@pytest.fixture
def backlog(resources: Resources) -> Backlog:
    settings = resources.settings.model_copy(update={"embedding_retry_seconds": 0.05})
    object.__setattr__(resources, "settings", settings)
    return Backlog.of(resources)


async def waiting(resources: Resources) -> int:
    return (await count(resources.db, UnembeddedRow))[0]


@pytest.mark.parametrize(
    "failure",
    [
        AWAY,
        DeadlineExceeded("Late.", Reason.MODEL_TIMEOUT),
        ResourceExhausted("Too much.", Reason.MODEL_RATE_LIMITED),
        BadGateway("No vectors.", Reason.MODEL_OUTPUT_INVALID),
    ],
)
async def test_a_new_memory_is_kept_and_embedded_later(
    client: httpx.AsyncClient,
    resources: Resources,
    embedder: ScriptedEmbedder,
    backlog: Backlog,
    failure: ServiceError,
) -> None:
    embedder.failure = failure
    await create_memory(client, "I like tea.")
    assert await listed(client) == ["I like tea."]
    assert await count(resources.db, MemoryVectorRow) == (0,)
    assert await waiting(resources) == 1
    assert ok(await client.get(f"{FIRST}:usage"))["embedding"] == {"waitingMemoryCount": 1}
    assert await backlog.run() == 0

    embedder.failure = None
    await asyncio.sleep(0.1)

    assert await backlog.run() == 1
    assert await waiting(resources) == 0
    assert await wrong_vectors(resources, embedder) == []
    assert await backlog.run() == 0


async def test_what_the_model_refuses_is_not_kept(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder
) -> None:
    embedder.failure = FailedPrecondition("No.", Reason.MODEL_REFUSED)
    answer = await client.post("/memories", json={"fact": "a", "scope": {"user_id": "42"}})
    assert refusal(answer) == (400, "FAILED_PRECONDITION")
    assert await listed(client) == []


async def test_a_fact_that_the_model_refuses_holds_up_no_others(
    client: httpx.AsyncClient, resources: Resources, backlog: Backlog, embedder: ScriptedEmbedder
) -> None:
    assert isinstance(embedder, PickyEmbedder)
    embedder.failure = AWAY
    for number in range(9):
        await create_memory(client, f"Fact number {number}.")
    embedder.failure = None
    embedder.refused = "number 3"
    assert await backlog.run() == 8
    assert await waiting(resources) == 1


async def test_an_updated_fact_keeps_no_vector_of_the_former_one(
    client: httpx.AsyncClient,
    resources: Resources,
    embedder: ScriptedEmbedder,
    backlog: Backlog,
) -> None:
    path = path_of((await create_memory(client, "I like tea."))["name"])
    embedder.failure = AWAY
    ok(await client.patch(path, json={"fact": "I like milk."}))
    assert await stored_vectors(resources) == {"I like milk.": []}
    # Another change, not of the fact: it waits on.
    ok(await client.patch(path, json={"displayName": "Milk"}))
    embedder.failure = None
    assert await backlog.run() == 1
    assert await wrong_vectors(resources, embedder) == []


async def test_a_fact_that_changes_while_it_is_embedded_waits_on(
    client: httpx.AsyncClient, resources: Resources, embedder: ScriptedEmbedder
) -> None:
    embedder.failure = AWAY
    path = path_of((await create_memory(client, "I like tea."))["name"])
    new = NewEmbedder()
    new.model_id = embedder.model_id
    later = changed(resources, new)

    async def meddle(_: int) -> None:
        new.meddle = None
        ok(await client.patch(path, json={"fact": "I like milk."}))

    new.meddle = meddle
    backlog = Backlog.of(later.resources)
    assert await backlog.run() == 0
    assert await waiting(resources) == 1
    assert await stored_vectors(resources) == {"I like milk.": []}


@pytest.mark.parametrize("permanent", ["true", "false"])
async def test_what_is_deleted_waits_for_nothing(
    client: httpx.AsyncClient,
    resources: Resources,
    embedder: ScriptedEmbedder,
    backlog: Backlog,
    permanent: str,
) -> None:
    embedder.failure = AWAY
    path = path_of((await create_memory(client, "I like tea."))["name"])
    ok(await client.delete(path, params={"permanent": permanent}))
    embedder.failure = None
    assert await backlog.run() == 0
    assert await waiting(resources) == 0
    assert await count(resources.db, MemoryVectorRow) == (0,)


async def test_a_rollback_is_kept(
    client: httpx.AsyncClient,
    resources: Resources,
    embedder: ScriptedEmbedder,
    backlog: Backlog,
) -> None:
    path = path_of((await create_memory(client, "I like tea."))["name"])
    ok(await client.patch(path, json={"fact": "I like milk."}))
    embedder.failure = AWAY
    ok(await roll_back(client, path, id_of((await history(client, path))[-1])))
    assert await stored_vectors(resources) == {"I like tea.": []}
    embedder.failure = None
    assert await backlog.run() == 1
    assert await wrong_vectors(resources, embedder) == []


async def test_an_undo_is_done(
    client: httpx.AsyncClient,
    resources: Resources,
    runner: Runner,
    embedder: ScriptedEmbedder,
    backlog: Backlog,
) -> None:
    path = path_of((await create_memory(client, "I like tea."))["name"])
    deleted = ok(await client.delete(path))
    embedder.failure = AWAY
    await undo(client, runner, deleted["name"])
    assert await stored_vectors(resources) == {"I like tea.": []}
    embedder.failure = None
    assert await backlog.run() == 1
    assert await wrong_vectors(resources, embedder) == []


async def test_a_generation_compares_by_words_and_is_kept(
    client: httpx.AsyncClient,
    resources: Resources,
    runner: Runner,
    embedder: ScriptedEmbedder,
    backlog: Backlog,
) -> None:
    await create_memory(client, "I like green tea.")
    embedder.failure = AWAY
    found = await generate(client, runner, "I like green tea.", "I live in Rome.")
    assert sorted(one["action"] for one in found) == ["CREATED", "UPDATED"]
    assert sorted(await listed(client)) == ["I like green tea.", "I live in Rome."]
    embedder.failure = None
    await backlog.run()
    assert await waiting(resources) == 0
    assert await wrong_vectors(resources, embedder) == []


async def test_a_batch_is_kept(
    client: httpx.AsyncClient,
    resources: Resources,
    embedder: ScriptedEmbedder,
    backlog: Backlog,
) -> None:
    embedder.failure = AWAY
    facts = ["I like tea.", "I live in Rome."]
    requests = [{"memory": {"fact": fact, "scope": {"user_id": "42"}}} for fact in facts]
    ok(await client.post("/memories:batchCreate", json={"requests": requests}))
    assert await waiting(resources) == 2
    embedder.failure = None
    assert await backlog.run() == 2
    assert await wrong_vectors(resources, embedder) == []


async def test_a_search_goes_by_words(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder, backlog: Backlog
) -> None:
    embedder.failure = AWAY
    await create_memory(client, "I like tea.")
    (found,) = await retrieve(client, **QUERY)
    assert found["memory"]["fact"] == "I like tea."
    embedder.failure = None
    await backlog.run()
    (found,) = await retrieve(client, **QUERY)
    assert found["distance"] == pytest.approx(0, abs=1e-2)


async def test_the_metrics_tell_how_much_waits(
    client: httpx.AsyncClient,
    embedder: ScriptedEmbedder,
    clock: FixedClock,
    backlog: Backlog,
) -> None:
    embedder.failure = AWAY
    for fact in ("a", "b"):
        await create_memory(client, fact)
    assert await _gauge(client) == 2
    embedder.failure = None
    await backlog.run()
    clock.advance(timedelta(minutes=1))
    assert await _gauge(client) == 0


async def _gauge(client: httpx.AsyncClient) -> float:
    answer = await client.get("http://test/metrics")
    (line,) = [
        line
        for line in answer.text.splitlines()
        if line.startswith("memory_bank_memories_unembedded ")
    ]
    return float(line.split()[1])


async def test_of_two_workers_each_takes_other_memories(
    client: httpx.AsyncClient, resources: Resources, embedder: ScriptedEmbedder
) -> None:
    embedder.failure = AWAY
    facts = [f"Fact {number}." for number in range(9)]
    for fact in facts:
        await create_memory(client, fact)
    new = NewEmbedder()
    new.model_id = embedder.model_id
    later = changed(resources, new).resources
    counts = await asyncio.gather(*(Backlog.of(later).run() for _ in range(3)))
    assert sum(counts) == 9
    assert sorted(new.texts) == facts


async def test_an_engine_whose_model_is_not_open_here_does_not_hold_up_others(
    client: httpx.AsyncClient, resources: Resources
) -> None:
    await create_memory(client, "I like tea.")
    later = changed(resources, NewEmbedder())
    created = ok(await later.client.post(ENGINE_URL.rpartition("/")[0], json={}))
    other = created["response"]["name"].rpartition("/")[2]
    for fact in ("a", "b", "c"):
        await create_memory(later.client, fact)
    later.embedder.failure = AWAY
    body: Json = {"fact": "d", "scope": {"user_id": "42"}}
    ok(await later.client.post(f"{ENGINE_URL.rpartition('/')[0]}/{other}/memories", json=body))
    later.embedder.failure = None

    assert await Backlog.of(later.resources).run() == 1

    assert later.embedder.texts[-1] == "d"
    assert await waiting(resources) == 3


async def test_a_search_where_the_model_is_not_open_goes_by_words(
    client: httpx.AsyncClient, resources: Resources
) -> None:
    await create_memory(client, "I like tea.")
    later = changed(resources, NewEmbedder())
    (found,) = await retrieve(later.client, **QUERY)
    assert found["memory"]["fact"] == "I like tea."
    assert later.embedder.texts == []


async def test_vectors_of_another_length_are_refused_and_searches_go_by_words(
    client: httpx.AsyncClient, resources: Resources, embedder: ScriptedEmbedder
) -> None:
    path = path_of((await create_memory(client, "I like tea."))["name"])
    shorter = NewEmbedder(8)
    shorter.model_id = embedder.model_id
    later = changed(resources, shorter).client
    body: Json = {"fact": "I like milk.", "scope": {"user_id": "42"}}
    for answer in (
        await later.post("/memories", json=body),
        await later.patch(path, json={"fact": "I like milk."}),
    ):
        assert refusal(answer) == (400, "FAILED_PRECONDITION")
        detail = answer.json()["error"]["details"][0]
        assert detail["reason"] == Reason.EMBEDDING_LENGTH_CHANGED
        assert detail["metadata"] == {"model": "scripted/1", "stored": "384", "given": "8"}
    (found,) = await retrieve(later, **QUERY)
    assert found["memory"]["fact"] == "I like tea."
    ok(await later.patch(path, json={"displayName": "Tea"}))
