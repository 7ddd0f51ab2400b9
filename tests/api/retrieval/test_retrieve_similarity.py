"""Retrieval by similarity alone, the ranking `vector`: wire specification, sections 7.1 and 7.2."""

import httpx
import pytest

from app.kernel.ranking import Ranking
from app.settings.settings import Settings
from tests.support.bank import Json, history, id_of, ok, retrieve, roll_back
from tests.support.operations import USER, create_memories, create_memory, path_of
from tests.support.scripted_models import ScriptedEmbedder

QUERY = "Where does the user sit?"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"ranking": Ranking.VECTOR})


@pytest.fixture
def embedder(embedder: ScriptedEmbedder) -> ScriptedEmbedder:
    """An embedder that knows how far four facts are from the query."""
    for fact, distance in (("near", 0.1), ("middle", 0.7), ("far", 1.4), ("opposite", 1.99)):
        embedder.place(fact, near=QUERY, distance=distance)
    return embedder


async def _found(client: httpx.AsyncClient, **params: object) -> list[tuple[str, float]]:
    """Return facts and distances (two digits) in the order of the answer."""
    search = {"search_query": QUERY, **params}
    found = await retrieve(client, similaritySearchParams=search)
    return [(one["memory"]["fact"], round(one["distance"], 2)) for one in found]


async def _create(client: httpx.AsyncClient, *facts: str) -> list[Json]:
    return await create_memories(client, *facts)


async def test_nearest_first_by_euclidean_distance(client: httpx.AsyncClient) -> None:
    await _create(client, "far", "near", "opposite", "middle")
    expected = [("near", 0.1), ("middle", 0.7), ("far", 1.4), ("opposite", 1.99)]
    assert await _found(client, top_k=10) == expected


async def test_the_same_text_is_at_distance_zero(client: httpx.AsyncClient) -> None:
    await _create(client, QUERY)
    assert await _found(client) == [(QUERY, 0.0)]


async def test_whole_memories_with_distance_and_no_token(client: httpx.AsyncClient) -> None:
    memories = await _create(client, "near", "middle", "far", "opposite")
    body = {"scope": USER, "similaritySearchParams": {"searchQuery": QUERY, "topK": 1}}
    answer = ok(await client.post("/memories:retrieve", json=body))
    (one,) = answer["retrievedMemories"]
    assert answer.keys() == {"retrievedMemories"}
    assert one.keys() == {"memory", "distance"}
    assert one["memory"] == memories[0]


async def test_top_k_is_3_by_default_and_coerced_to_100(client: httpx.AsyncClient) -> None:
    await _create(client, *(str(number) for number in range(101)))
    for params, number in (({}, 3), ({"top_k": 0}, 3), ({"top_k": 1}, 1), ({"topK": 5000}, 100)):
        assert len(await _found(client, **params)) == number


async def test_equal_distances_keep_one_order(client: httpx.AsyncClient) -> None:
    for chosen in ("d", "a", "f", "c", "e", "b"):
        body = {"fact": "near", "scope": USER}
        ok(await client.post("/memories", params={"memoryId": chosen}, json=body))
    search = {"similaritySearchParams": {"searchQuery": QUERY, "topK": 4}}
    for _ in range(3):
        found = await retrieve(client, **search)
        assert [id_of(one["memory"]) for one in found] == ["a", "b", "c", "d"]


async def test_an_update_of_the_fact_changes_its_distance(client: httpx.AsyncClient) -> None:
    moved, _ = await _create(client, "far", "middle")
    path = path_of(moved["name"])
    ok(await client.patch(path, json={"fact": "near"}))
    assert await _found(client) == [("near", 0.1), ("middle", 0.7)]
    ok(await client.patch(path, json={"displayName": "d"}))
    assert await _found(client) == [("near", 0.1), ("middle", 0.7)]


async def test_a_rollback_brings_the_old_distance_back(client: httpx.AsyncClient) -> None:
    (memory,) = await _create(client, "near")
    path = path_of(memory["name"])
    first = id_of((await history(client, path))[-1])
    ok(await client.patch(path, json={"fact": "far"}))
    assert await _found(client) == [("far", 1.4)]
    ok(await roll_back(client, path, first))
    assert await _found(client) == [("near", 0.1)]


async def test_a_tombstone_is_found_again_after_its_rollback(client: httpx.AsyncClient) -> None:
    deleted, _ = await _create(client, "near", "far")
    path = path_of(deleted["name"])
    ok(await client.delete(path))
    assert await _found(client) == [("far", 1.4)]
    ok(await roll_back(client, path, id_of((await history(client, path))[-1])))
    assert await _found(client) == [("near", 0.1), ("far", 1.4)]


async def test_a_memory_without_a_fact_has_no_distance(client: httpx.AsyncClient) -> None:
    content = {"data": {"a": 1}, "schemaId": "s"}
    body = {"scope": USER, "structuredContent": content}
    memory = ok(await client.post("/memories", json=body))["response"]
    assert await _found(client) == []
    path = path_of(memory["name"])
    ok(await client.patch(path, json={"fact": "near"}))
    assert await _found(client) == [("near", 0.1)]
    ok(await client.patch(path, json={}, params={"updateMask": "fact"}))
    assert await _found(client) == []


async def test_a_nearer_memory_of_another_scope_or_engine_is_not_seen(
    client: httpx.AsyncClient,
) -> None:
    await _create(client, "far")
    await create_memory(client, "near", {"user_id": "7"})
    other = ok(await client.post("http://test/v1/reasoningEngines"))["response"]["name"]
    ok(await client.post(f"http://test/v1/{other}/memories", json={"fact": "near", "scope": USER}))
    assert await _found(client, top_k=100) == [("far", 1.4)]


async def test_only_the_query_is_embedded(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder
) -> None:
    await _create(client, "near", "far")
    embedder.calls.clear()
    await _found(client)
    assert embedder.calls == [[QUERY]]
    await retrieve(client)
    assert embedder.calls == [[QUERY]]
