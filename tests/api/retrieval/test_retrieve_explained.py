"""Why memories were found, which fit into a number of tokens, and what orders them."""

from typing import Any

import httpx
import pytest

from app.kernel.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    Reason,
    ResourceExhausted,
    ServiceError,
    Unavailable,
)
from app.kernel.ranking import Ranking
from app.settings.settings import Settings
from tests.support.bank import ENGINE_URL, Json, field_of, ok, retrieve, retrieved
from tests.support.cases import in_one_test
from tests.support.operations import USER, create_memory
from tests.support.scripted_models import ScriptedEmbedder

QUERY = "Where does the user sit?"
SEARCH: Json = {"searchQuery": QUERY, "topK": 9}
HEADER = "x-memory-bank-retrieval"


@pytest.fixture
async def facts(client: httpx.AsyncClient, embedder: ScriptedEmbedder) -> list[str]:
    """Facts of 1, 3, 5 and 7 tokens; the shorter, the farther from the query."""
    found = ["Sits" + "!" * (8 * number) for number in range(4)]
    for number, fact in enumerate(found):
        embedder.place(fact, near=QUERY, distance=1.2 - number / 10)
        await create_memory(client, fact)
    return found


async def _set(client: httpx.AsyncClient, **search: str) -> httpx.Response:
    config = {"similaritySearchConfig": search}
    return await client.patch(ENGINE_URL, json={"contextSpec": {"memoryBankConfig": config}})


# Explanations ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("facts")
async def test_nothing_is_explained_unless_it_is_asked_for(client: httpx.AsyncClient) -> None:
    for body in ({}, {"similaritySearchParams": SEARCH}, {"explain": False}):
        for one in await retrieve(client, **body):
            assert one.keys() <= {"memory", "distance"}


@pytest.mark.usefixtures("facts")
async def test_an_explanation_names_the_ranking_the_signals_and_the_tokens(
    client: httpx.AsyncClient,
) -> None:
    found = await retrieve(client, similaritySearchParams=SEARCH, explain=True)
    for one, tokens in zip(found, (7, 5, 3, 1), strict=True):
        told = one["explanation"]
        assert told["ranking"] == "hybrid"
        assert told["vectorsUnavailable"] is False
        assert told["tokens"] == tokens
        assert {"vector", "words", "nearbyWords", "subject"} <= told["signals"].keys()
        assert told["lexicalScore"] == told["signals"]["words"]
    assert [round(one["explanation"]["vectorDistance"], 1) for one in found] == [0.9, 1, 1.1, 1.2]
    best, *_, worst = found
    assert best["explanation"]["signals"]["vector"] > worst["explanation"]["signals"]["vector"]


@pytest.mark.usefixtures("facts")
async def test_without_a_search_only_tokens_are_explained(client: httpx.AsyncClient) -> None:
    found = await retrieve(client, explain=True)
    assert [one["explanation"] for one in found] == [{"tokens": n} for n in (7, 5, 3, 1)]


async def test_a_memory_that_waits_for_its_vector_has_no_distance_of_it(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder
) -> None:
    await create_memory(client, "The user sits by the window.")
    embedder.failure = Unavailable("Away.", Reason.MODEL_UNAVAILABLE)
    await create_memory(client, "The user stands at the door.")
    embedder.failure = None
    found = await retrieve(client, similaritySearchParams=SEARCH, explain=True)
    told = {one["memory"]["fact"]: one["explanation"] for one in found}
    assert "vectorDistance" in told["The user sits by the window."]
    assert "vectorDistance" not in told["The user stands at the door."]


# Tokens ------------------------------------------------------------------------------------------


@in_one_test(
    ("most", "numbers"),
    [
        (100, [3, 2, 1, 0]),
        (16, [3, 2, 1, 0]),
        (15, [3, 2, 1]),
        (14, [3, 2, 0]),
        (13, [3, 2, 0]),
        (12, [3, 2]),
        (6, [2, 0]),
        (1, [0]),
        (0, [3, 2, 1, 0]),
    ],
)
@in_one_test("way", [{"similaritySearchParams": SEARCH}, {}])
async def test_as_many_memories_as_fit_best_first_and_none_is_cut(
    client: httpx.AsyncClient, facts: list[str], way: Json, most: int, numbers: list[int]
) -> None:
    for name in ("maxTokens", "max_tokens"):
        assert await retrieved(client, **way, **{name: most}) == [facts[n] for n in numbers]


@pytest.mark.usefixtures("facts")
async def test_the_tokens_of_what_is_returned_do_not_exceed_the_most(
    client: httpx.AsyncClient,
) -> None:
    for most in range(1, 20):
        found = await retrieve(client, similaritySearchParams=SEARCH, maxTokens=most, explain=True)
        assert sum(one["explanation"]["tokens"] for one in found) <= most


@pytest.mark.usefixtures("facts")
async def test_pages_leave_out_what_does_not_fit_and_go_on(client: httpx.AsyncClient) -> None:
    lengths, token = [], ""
    for _ in range(2):
        params = {"pageSize": 2, "pageToken": token}
        body = {"scope": USER, "simpleRetrievalParams": params, "maxTokens": 7}
        page = ok(await client.post("/memories:retrieve", json=body))
        lengths.append([len(one["memory"]["fact"]) for one in page["retrievedMemories"]])
        token = page.get("nextPageToken", "")
    assert (lengths, token) == ([[28], [12, 4]], "")


async def test_the_number_of_tokens_is_checked(client: httpx.AsyncClient) -> None:
    for wrong in (-1, 1.5, "many"):
        body = {"scope": USER, "maxTokens": wrong}
        assert field_of(await client.post("/memories:retrieve", json=body)) == "maxTokens"


async def test_a_memory_without_a_fact_counts_by_its_content(client: httpx.AsyncClient) -> None:
    content = {"data": {"name": "x" * 400}, "schemaId": "s"}
    ok(await client.post("/memories", json={"scope": USER, "structuredContent": content}))
    assert len(await retrieve(client, maxTokens=200)) == 1
    assert await retrieve(client, maxTokens=100) == []


# Rankings ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("facts")
async def test_an_engine_may_rank_by_distance_alone(client: httpx.AsyncClient) -> None:
    ok(await _set(client, ranking="vector"))
    found = await retrieve(client, similaritySearchParams=SEARCH, explain=True)
    assert [round(one["distance"], 1) for one in found] == [0.9, 1, 1.1, 1.2]
    for one in found:
        told = one["explanation"]
        assert told["vectorDistance"] == one["distance"]
        assert told.keys() == {"ranking", "vectorDistance", "tokens"}
        assert told["ranking"] == "vector"
    ok(await _set(client, ranking="hybrid"))
    (one, *_) = await retrieve(client, similaritySearchParams=SEARCH, explain=True)
    assert one["explanation"]["ranking"] == "hybrid"


@pytest.mark.usefixtures("facts")
async def test_one_search_may_rank_as_an_engine_so_configured_does(
    client: httpx.AsyncClient,
) -> None:
    body: Json = {"similaritySearchParams": SEARCH, "explain": True}
    # A filter takes the other path of searches.
    bodies = [body, {**body, "filter": "fact:Sits", "maxTokens": 5}]
    by_engine: dict[Ranking, list[list[Json]]] = {}
    by_request: dict[Ranking, list[list[Json]]] = {}
    for ranking in Ranking:
        ok(await _set(client, ranking=ranking))
        by_engine[ranking] = [await retrieve(client, **one) for one in bodies]
        assert by_engine[ranking][0][0]["explanation"]["ranking"] == ranking
        for other in Ranking:
            found = [await retrieve(client, **one, ranking=other) for one in bodies]
            assert by_request.setdefault(other, found) == found
    assert by_request == by_engine


@in_one_test(
    ("body", "description"),
    [
        ({"ranking": "rrf", "similaritySearchParams": SEARCH}, "must be one of hybrid, vector"),
        ({"ranking": "vector"}, "must come with similaritySearchParams"),
        (
            {"ranking": "hybrid", "simpleRetrievalParams": {"pageSize": 1}},
            "must come with similaritySearchParams",
        ),
    ],
)
async def test_a_ranking_without_a_search_is_refused(
    client: httpx.AsyncClient, body: Json, description: str
) -> None:
    answer = await client.post("/memories:retrieve", json={"scope": USER, **body})
    assert field_of(answer) == "ranking"
    assert description in answer.text


class TestOfAServiceThatRanksByDistance:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"ranking": Ranking.VECTOR})

    @pytest.mark.usefixtures("facts")
    async def test_an_engine_may_rank_by_everything(self, client: httpx.AsyncClient) -> None:
        rankings = []
        for setting in ({}, {"ranking": "hybrid"}):
            ok(await _set(client, embeddingModel="any", **setting))
            (one, *_) = await retrieve(client, similaritySearchParams=SEARCH, explain=True)
            rankings.append(one["explanation"]["ranking"])
        assert rankings == ["vector", "hybrid"]

    async def test_vectors_that_know_only_words_are_compared_as_before(
        self, client: httpx.AsyncClient, embedder: ScriptedEmbedder
    ) -> None:
        embedder.lexical_only = True
        embedder.place("Far words.", near=QUERY, distance=0.4)
        for fact in ("The user does sit.", "Far words."):
            await create_memory(client, fact)
        (one, _) = await retrieve(client, similaritySearchParams=SEARCH)
        assert (one["memory"]["fact"], round(one["distance"], 1)) == ("Far words.", 0.4)


async def test_an_engine_s_settings_of_searches_are_checked_and_kept(
    client: httpx.AsyncClient,
) -> None:
    kept = {"embeddingModel": "m", "ranking": "vector", "language": "de"}
    ok(await _set(client, **kept))
    config = ok(await client.get(ENGINE_URL))["contextSpec"]["memoryBankConfig"]
    assert config == {"similaritySearchConfig": kept}
    for wrong, accepted in (
        ({"ranking": "rrf"}, "must be one of hybrid, vector"),
        ({"language": "english"}, "must be one of simple, ar, "),
        ({"language": "pl"}, "must be one of simple, ar, "),
    ):
        answer = await _set(client, **wrong)
        (name,) = wrong
        assert field_of(answer).endswith(f"similaritySearchConfig.{name}")
        assert accepted in answer.text


# The provider is away ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "failure",
    [
        Unavailable("Away.", Reason.MODEL_UNAVAILABLE),
        DeadlineExceeded("Slow.", Reason.MODEL_TIMEOUT),
        ResourceExhausted("Busy.", Reason.MODEL_RATE_LIMITED),
        FailedPrecondition("No.", Reason.MODEL_REFUSED),
    ],
    ids=lambda failure: type(failure).__name__,
)
@pytest.mark.parametrize("ranking", list(Ranking))
async def test_while_the_provider_is_away_words_are_searched_and_the_answer_says_so(
    client: httpx.AsyncClient,
    embedder: ScriptedEmbedder,
    failure: ServiceError,
    ranking: Ranking,
) -> None:
    ok(await _set(client, ranking=ranking))
    facts = ["The user likes tea.", "The user sits by the window.", "Nothing else."]
    for fact in facts:
        await create_memory(client, fact)
    body: dict[str, Any] = {"scope": USER, "similaritySearchParams": SEARCH, "explain": True}
    answer = await client.post("/memories:retrieve", json=body)
    assert HEADER not in answer.headers
    embedder.failure = failure
    answer = await client.post("/memories:retrieve", json=body)
    found = ok(answer)["retrievedMemories"]
    assert answer.headers[HEADER] == "lexical"
    assert found[0]["memory"]["fact"] == "The user sits by the window."
    assert sorted(one["memory"]["fact"] for one in found) == sorted(facts)
    for one in found:
        assert one["explanation"]["vectorsUnavailable"] is True
        assert one["explanation"]["ranking"] == "hybrid"
        assert "vectorDistance" not in one["explanation"]
    # Without a search, no vectors are missed.
    assert HEADER not in (await client.post("/memories:retrieve", json={"scope": USER})).headers
