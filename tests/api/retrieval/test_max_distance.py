"""Searches that leave out what is too far, and say how much that was."""

import httpx
import pytest

from tests.support.bank import ENGINE_URL, Json, field_of, ok
from tests.support.cases import in_one_test
from tests.support.operations import USER, create_memory
from tests.support.scripted_models import ScriptedEmbedder

QUERY = "Where does the user sit?"
DISTANCES = (0.5, 0.9, 1.2, 1.4)


@pytest.fixture(autouse=True)
async def facts(client: httpx.AsyncClient, embedder: ScriptedEmbedder) -> list[str]:
    """Facts at known distances from the query, the nearest first."""
    found = [f"Fact {number}." for number in range(len(DISTANCES))]
    for fact, distance in zip(found, DISTANCES, strict=True):
        embedder.place(fact, near=QUERY, distance=distance)
        await create_memory(client, fact)
    return found


async def _configure(client: httpx.AsyncClient, **search: object) -> httpx.Response:
    config = {"similaritySearchConfig": search}
    return await client.patch(ENGINE_URL, json={"contextSpec": {"memoryBankConfig": config}})


async def _search(client: httpx.AsyncClient, **params: object) -> httpx.Response:
    search = {"searchQuery": QUERY, "topK": 9, **params}
    body = {"scope": USER, "similaritySearchParams": search}
    return await client.post("/memories:retrieve", json=body)


def _facts(answer: Json) -> list[str]:
    return [one["memory"]["fact"] for one in answer["retrievedMemories"]]


@pytest.mark.parametrize("name", ["maxDistance", "max_distance"])
async def test_what_is_farther_is_left_out_and_counted(
    client: httpx.AsyncClient, facts: list[str], name: str
) -> None:
    ok(await _configure(client, ranking="vector"))
    answer = ok(await _search(client, **{name: 1.0}))
    assert _facts(answer) == facts[:2]
    assert answer["omittedCount"] == 2
    few = ok(await _search(client, topK=3, **{name: 1.0}))
    assert (_facts(few), few["omittedCount"]) == (facts[:2], 1)


async def test_in_hybrid_it_is_the_distance_of_the_answer(client: httpx.AsyncClient) -> None:
    everything = ok(await _search(client))
    assert "omittedCount" not in everything
    distances = [one["distance"] for one in everything["retrievedMemories"]]
    answer = ok(await _search(client, maxDistance=distances[1]))
    assert len(answer["retrievedMemories"]) == 2
    assert answer["omittedCount"] == 2
    assert ok(await _search(client, maxDistance=2))["omittedCount"] == 0


async def test_the_engine_s_limit_holds_unless_the_request_has_one(
    client: httpx.AsyncClient, facts: list[str]
) -> None:
    ok(await _configure(client, ranking="vector", maxDistance=0.6))
    answer = ok(await _search(client))
    assert (_facts(answer), answer["omittedCount"]) == (facts[:1], 3)
    answer = ok(await _search(client, maxDistance=1.3))
    assert (_facts(answer), answer["omittedCount"]) == (facts[:3], 1)


async def test_a_page_of_the_newest_knows_no_distance(client: httpx.AsyncClient) -> None:
    ok(await _configure(client, maxDistance=0.1))
    answer = ok(await client.post("/memories:retrieve", json={"scope": USER}))
    assert len(answer["retrievedMemories"]) == len(DISTANCES)
    assert "omittedCount" not in answer


@in_one_test("wrong", [0, -1, 2.1, "far", "NaN"])
async def test_another_distance_is_refused(client: httpx.AsyncClient, wrong: object) -> None:
    refused = await _search(client, maxDistance=wrong)
    assert refused.status_code == 400
    assert field_of(refused) == "similaritySearchParams.maxDistance"
    refused = await _configure(client, maxDistance=wrong)
    assert refused.status_code == 400
    assert "maxDistance" in field_of(refused)
