"""A re-embedding with a model that refuses some facts: these wait, and it serves the others."""

from collections.abc import Sequence

import httpx
import pytest
from typing_extensions import override

from app.adapters.llm.ports import Vectors
from app.adapters.resources import Resources
from app.kernel.errors import BadGateway, FailedPrecondition, Reason, Unavailable
from app.memory.memories.store.tables import UnembeddedRow
from app.memory.reembedding import jobs, service
from app.memory.reembedding.service import Backlog
from app.memory.reembedding.store import MemorySpan
from tests.support.bank import Json, count, ok, retrieve
from tests.support.embedding import NEW, OLD, Changed, NewEmbedder, changed, stored_vectors
from tests.support.operations import create_memory, path_of
from tests.support.scripted_models import ScriptedEmbedder

FACTS = ["I like tea.", "I have a dog.", "I live in Rome.", "I play chess.", "I speak Dutch."]
QUERY = {"similaritySearchParams": {"searchQuery": "Do I play chess?", "topK": 1}}


class Picky(NewEmbedder):
    """Refuses all texts of a call of which one holds a text."""

    refused = "chess"
    error: Exception = FailedPrecondition("No.", Reason.MODEL_REFUSED)

    @override
    async def embed(self, texts: Sequence[str]) -> Vectors:
        if any(self.refused in text for text in texts):
            self.calls.append(list(texts))
            raise self.error
        return await super().embed(texts)


@pytest.fixture
async def bank(client: httpx.AsyncClient, embedder: ScriptedEmbedder) -> dict[str, Json]:
    """Memories embedded by the former model, by their facts."""
    assert embedder.model_id == OLD
    return {fact: await create_memory(client, fact) for fact in FACTS}


@pytest.fixture
def picky() -> Picky:
    return Picky()


@pytest.fixture
def now(resources: Resources, embedder: ScriptedEmbedder, picky: Picky) -> Changed:
    return changed(resources, picky, embedder, reembed_batch_rows=4)


@pytest.mark.parametrize(
    "error",
    [
        FailedPrecondition("No.", Reason.MODEL_REFUSED),
        BadGateway("A vector without direction.", Reason.MODEL_OUTPUT_INVALID),
    ],
)
async def test_what_it_refuses_is_passed_over_and_named(
    resources: Resources, bank: dict[str, Json], now: Changed, picky: Picky, error: Exception
) -> None:
    picky.error = error
    done = await now.reembedded()
    assert done["response"] == {
        "@type": done["response"]["@type"],
        "embeddingModel": NEW,
        "refusedCount": 1,
        "refusedMemories": [bank["I play chess."]["name"]],
    }
    told = ("embeddedCount", "refusedCount", "totalCount", "percent")
    assert [done["metadata"][key] for key in told] == [4, 1, 5, 100]
    vectors = await stored_vectors(resources)
    assert vectors.pop("I play chess.") == [OLD]
    assert set(map(tuple, vectors.values())) == {(OLD, NEW)}


async def test_where_it_refuses_nothing_the_operation_says_nothing_of_it(
    bank: dict[str, Json], now: Changed, picky: Picky
) -> None:
    picky.refused = "\x00"
    done = await now.reembedded()
    assert done["metadata"]["totalCount"] == len(bank)
    assert not {"refusedCount", "refusedMemories"} & {*done["response"], *done["metadata"]}


@pytest.mark.usefixtures("bank")
async def test_what_it_refuses_is_found_by_its_words_and_waits(
    resources: Resources, now: Changed, picky: Picky
) -> None:
    picky.refused = "I play chess."
    await now.reembedded()
    assert await count(resources.db, UnembeddedRow) == (1,)
    (found,) = await retrieve(now.client, **QUERY)
    assert found["memory"]["fact"] == "I play chess."
    backlog = Backlog.of(now.resources)
    assert await backlog.run() == 0
    # It was asked for a moment ago.
    picky.calls.clear()
    assert await backlog.run() == 0
    assert picky.calls == []


@pytest.mark.usefixtures("bank")
async def test_a_model_that_takes_it_after_all_embeds_it(
    resources: Resources, now: Changed, picky: Picky
) -> None:
    await now.reembedded()
    picky.refused = "\x00"
    assert await Backlog.of(now.resources).run() == 1
    assert (await stored_vectors(resources))["I play chess."] == [OLD, NEW]


async def test_what_was_refused_and_is_changed_meanwhile_is_embedded(
    resources: Resources, bank: dict[str, Json], now: Changed, picky: Picky
) -> None:
    path, calls = path_of(bank["I play chess."]["name"]), picky.calls

    async def meddle(_: int) -> None:
        if ["I play chess."] in calls or len(calls) > 6:
            picky.meddle = None
            ok(await now.client.patch(path, json={"fact": "I play Go."}))

    picky.meddle = meddle
    done = await now.reembedded()
    assert "refusedCount" not in done["response"]
    assert (await stored_vectors(resources))["I play Go."] == [OLD, NEW]


async def test_of_many_it_names_some_and_counts_all(
    resources: Resources,
    bank: dict[str, Json],
    now: Changed,
    picky: Picky,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs, "MOST_NAMED", 2)
    picky.refused = "I "
    response = (await now.reembedded())["response"]
    assert response["refusedCount"] == len(FACTS)
    names = sorted(memory["name"] for memory in bank.values())
    assert response["refusedMemories"] == names[:2]
    assert await count(resources.db, UnembeddedRow) == (len(FACTS),)


@pytest.mark.usefixtures("bank")
async def test_each_is_asked_for_once(now: Changed, picky: Picky) -> None:
    """Although what was changed lately is looked at again, before it serves."""
    await now.reembedded()
    alone = [call for call in picky.calls if call == ["I play chess."]]
    assert len(alone) == 1
    assert len(picky.texts) < 4 * len(FACTS)


@pytest.mark.usefixtures("bank")
async def test_a_model_that_refuses_everything_is_not_brought(
    resources: Resources, now: Changed, picky: Picky
) -> None:
    picky.refused = ""
    done = await now.reembedded()
    assert done["error"]["details"][0]["reason"] == Reason.MODEL_REFUSED
    assert len(picky.calls) == 2
    assert await count(resources.db, UnembeddedRow) == (0,)
    await create_memory(now.client, "I am new.")
    assert (await stored_vectors(resources))["I am new."] == [OLD]


@pytest.mark.usefixtures("bank")
async def test_a_model_that_refuses_too_much_is_not_brought(
    resources: Resources, now: Changed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOST_REFUSED", 0)
    done = await now.reembedded()
    assert done["error"]["details"][0]["reason"] == Reason.MODEL_REFUSED
    assert await count(resources.db, UnembeddedRow) == (0,)
    await create_memory(now.client, "I am new.")
    assert (await stored_vectors(resources))["I am new."] == [OLD]


@pytest.mark.usefixtures("bank")
async def test_a_model_that_goes_away_while_it_is_asked_in_halves_refuses_nothing(
    resources: Resources, now: Changed, picky: Picky
) -> None:

    async def meddle(number: int) -> None:
        # Once the batch was refused, and another text was not.
        if number > 2:
            raise Unavailable("Away.", Reason.MODEL_UNAVAILABLE)

    picky.refused, picky.meddle = " a ", meddle
    waiting = await now.reembedded()
    assert not waiting["done"]
    assert "postponedUntil" in waiting["metadata"]
    assert "refusedCount" not in waiting["metadata"]
    assert await count(resources.db, UnembeddedRow) == (0,)


def test_a_page_ends_where_the_database_says_that_it_does() -> None:
    """Other than by the bytes of ids: many collations pass over hyphens at first."""
    page = {"a-a": "first", "ab": "second", "a-c": "third"}
    assert MemorySpan(last="b").beyond(page) == MemorySpan(after="a-c", last="b")
