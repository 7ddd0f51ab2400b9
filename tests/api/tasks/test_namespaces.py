"""Namespaces: what may be known of them, what holds for them, and who may change it."""

import asyncio
from datetime import timedelta

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.settings.settings import Settings
from tests.support.bank import BAD, ENGINE_URL, GONE, STALE, Json, ok, refusal
from tests.support.keys import client_with, make_key
from tests.support.tasks import (
    AGENT,
    ARTIFACT,
    MEMORY,
    NAMESPACE,
    NOTHING,
    Sweep,
    process,
    store,
    stored,
    text_output,
    upload,
)

DENIED = (403, "PERMISSION_DENIED")


async def _client(
    app: FastAPI, database: Database, clock: FixedClock, *permissions: str
) -> httpx.AsyncClient:
    return client_with(app, await make_key(database, clock.now(), permissions=[*permissions]))


async def test_content_and_what_tells_of_it_need_the_permission(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
) -> None:
    ok(await store(client, text_output("tea", name="a")))
    async with await _client(app, database, clock, *AGENT) as agent:
        denied = await agent.get(f"{ARTIFACT}/content")
        assert refusal(denied) == DENIED
        shown = ok(await agent.get(ARTIFACT))
        assert not {"sha256", "sniffedType"} & shown.keys()
    async with await _client(app, database, clock, "artifacts.content") as reader:
        assert (await reader.get(f"{ARTIFACT}/content")).text == "tea"
        assert refusal(await reader.get(ARTIFACT)) == DENIED
    assert {"sha256", "sniffedType"} <= ok(await client.get(ARTIFACT)).keys()


async def test_namespaces_are_listed_newest_first_with_their_references(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    for name in ("a", "b", "c"):
        ok(await store(client, text_output(name), path=f"{MEMORY}/namespaces/{name}"))
        clock.advance(timedelta(seconds=1))
    page = ok(await client.get(f"{MEMORY}/namespaces", params={"pageSize": 2}))
    rest = {"pageSize": 2, "pageToken": page["nextPageToken"]}
    last = ok(await client.get(f"{MEMORY}/namespaces", params=rest))
    found = page["namespaces"] + last["namespaces"]
    assert [one["reference"]["namespace"] for one in found] == ["c", "b", "a"]
    assert [one["reference"]["count"] for one in found] == [1, 1, 1]
    assert ok(await client.get(f"{MEMORY}/namespaces/b")) == found[1]
    memory = ok(await client.get(MEMORY))
    assert (memory["namespaceCount"], memory["artifactCount"], memory["totalBytes"]) == (3, 3, "3")


async def test_artifacts_come_in_pages(client: httpx.AsyncClient) -> None:
    ok(await store(client, *(text_output(str(n)) for n in range(5))))
    found: list[str] = []
    params: Json = {"pageSize": 2}
    while True:
        page = ok(await client.get(f"{NAMESPACE}/artifacts", params=params))
        found += [one["name"].rpartition("/")[2] for one in page["artifacts"]]
        if "nextPageToken" not in page:
            break
        params["pageToken"] = page["nextPageToken"]
    assert found == [f"artifact-{n}" for n in range(1, 6)]


async def test_what_is_set_can_be_tightened_by_agents_and_loosened_by_others_alone(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
) -> None:
    ok(await store(client, text_output("tea")))
    async with await _client(app, database, clock, *AGENT) as agent:
        body = {"sensitive": True, "localOnly": True, "allowedModels": ["a", "b"]}
        changed = ok(await agent.patch(NAMESPACE, json=body))
        assert {key: changed[key] for key in body} == body
        ok(await agent.patch(NAMESPACE, json={"allowedModels": ["b"]}))
        for looser in (
            {"sensitive": False},
            {"localOnly": False},
            {"allowedModels": ["a"]},
            {"allowedModels": None},
            {"embeddingModel": "minilm"},
            {"ttl": "1000000s"},
        ):
            assert refusal(await agent.patch(NAMESPACE, json=looser)) == DENIED, looser
        # What is added to it makes it no looser, either.
        ok(await store(agent, text_output("milk"), sensitive=False, allowedModels=["b", "c"]))
    found = ok(await client.get(NAMESPACE))
    assert (found["sensitive"], found["localOnly"], found["allowedModels"]) == (True, True, ["b"])
    stale = await client.patch(NAMESPACE, json={"sensitive": False, "etag": "1"})
    assert refusal(stale) == STALE
    loosened = ok(await client.patch(NAMESPACE, json={"sensitive": False, "etag": found["etag"]}))
    assert loosened["sensitive"] is False


async def test_an_output_for_a_sensitive_namespace_is_stored(client: httpx.AsyncClient) -> None:
    ok(await store(client, text_output("tea"), sensitive=True))
    answer = await process(client, text_output("a"), namespace="n", offPrompt=False)
    assert ok(answer)["disposition"] == "stored"


async def test_what_expires_is_gone_and_its_bytes_with_the_sweep(
    client: httpx.AsyncClient, database: Database, clock: FixedClock, sweep: Sweep
) -> None:
    ok(await store(client, text_output("tea", name="a"), ttl="1s"))
    ok(await upload(client, bytes(600_000), f"{NAMESPACE}/artifacts/b", params={"ttl": "3600s"}))
    clock.advance(timedelta(seconds=2))
    for path in (ARTIFACT, f"{ARTIFACT}/content"):
        assert refusal(await client.get(path)) == GONE
    reference = ok(await client.get(NAMESPACE))["reference"]
    assert (reference["count"], reference["totalBytes"]) == (1, "600000")
    await sweep()
    # Nobody can read it; but a request that began before may be about to keep it.
    assert (await stored(database))["task_artifacts"] == 2
    clock.advance(timedelta(seconds=60))
    await sweep()
    left = await stored(database)
    assert (left["task_artifacts"], left["task_pages"], left["task_chunks"]) == (1, 3, 0)
    clock.advance(timedelta(seconds=3_600))
    assert refusal(await client.get(NAMESPACE)) == GONE
    assert refusal(await client.get(MEMORY)) == GONE
    await sweep()
    assert await stored(database) == NOTHING
    assert ok(await client.get(f"{ENGINE_URL}:usage"))["quotas"]["artifactBytes"]["used"] == 0


async def test_the_life_of_a_namespace_can_be_set_anew(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    ok(await store(client, text_output("tea", name="a")))
    changed = ok(await client.patch(NAMESPACE, json={"ttl": "2s"}))
    assert changed["expireTime"] == "2026-01-15T12:00:02Z"
    clock.advance(timedelta(seconds=3))
    assert refusal(await client.get(ARTIFACT)) == GONE
    # What has expired gives way.
    ok(await store(client, text_output("milk", name="a"), ttl="60s"))
    assert (await client.get(f"{ARTIFACT}/content")).text == "milk"


async def test_an_artifact_is_erased_with_its_pieces(
    client: httpx.AsyncClient, database: Database
) -> None:
    ok(await store(client, text_output("tea", name="a"), text_output("milk", name="b")))
    stale = await client.delete(ARTIFACT, headers={"If-Match": "1"})
    assert refusal(stale) == STALE
    assert ok(await client.delete(ARTIFACT)) == {}
    assert refusal(await client.delete(ARTIFACT)) == GONE
    left = await stored(database)
    assert (left["task_artifacts"], left["task_pages"], left["task_chunks"]) == (1, 1, 1)
    reference = ok(await client.get(NAMESPACE))["reference"]
    assert (reference["count"], reference["totalBytes"]) == (1, "4")
    ok(await client.delete(f"{NAMESPACE}/artifacts/b"))
    assert refusal(await client.get(NAMESPACE)) == GONE
    assert await stored(database) == NOTHING


async def test_a_namespace_and_a_memory_are_erased_whole(
    client: httpx.AsyncClient, database: Database
) -> None:
    for name in ("n", "m", "k"):
        ok(await store(client, text_output("tea"), path=f"{MEMORY}/namespaces/{name}"))
    ok(await client.delete(NAMESPACE))
    assert (await stored(database))["task_namespaces"] == 2
    ok(await client.put(f"{MEMORY}/toolPolicies/web", json={"sensitive": True}))
    ok(await client.delete(MEMORY))
    assert await stored(database) == NOTHING
    # An agent cannot get rid of what holds for its tools so.
    assert ok(await client.get(f"{MEMORY}/toolPolicies/web"))["sensitive"] is True
    for path in (MEMORY, NAMESPACE):
        assert refusal(await client.delete(path)) == GONE


async def test_whose_a_namespace_is_does_not_change(client: httpx.AsyncClient) -> None:
    ok(await store(client, text_output("tea"), userId="42"))
    assert ok(await client.get(NAMESPACE))["userId"] == "42"
    ok(await store(client, text_output("milk")))
    other = await store(client, text_output("milk"), userId="43")
    assert refusal(other) == BAD


async def test_uploads_of_one_name_at_once_leave_one(
    client: httpx.AsyncClient, database: Database
) -> None:
    answers = await asyncio.gather(*(upload(client, bytes([n]) * 300_000) for n in range(4)))
    statuses = sorted(one.status_code for one in answers)
    assert statuses == [200, 409, 409, 409]
    left = await stored(database)
    assert (left["task_artifacts"], left["task_pages"]) == (1, 2)
    assert ok(await client.get(NAMESPACE))["reference"]["count"] == 1


class TestSmall:
    """A service whose namespaces and engines may have little."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        few = {
            "task_max_namespace_bytes": 1_000,
            "task_max_namespace_artifacts": 3,
            "engine_max_artifact_bytes": 1_500,
        }
        return settings.model_copy(update=few)

    async def test_a_namespace_has_no_more_than_it_may(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        ok(await upload(client, b"x" * 900))
        before = await stored(database)
        for answer in (
            await upload(client, b"x" * 200, f"{NAMESPACE}/artifacts/b"),
            await store(client, text_output("x" * 101)),
            await store(client, *(text_output("x") for _ in range(3))),
        ):
            assert answer.status_code == 429
            assert answer.json()["error"]["details"][0]["reason"] == "QUOTA_EXHAUSTED"
        assert await stored(database) == before

    async def test_an_engine_has_no_more_than_it_may(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        ok(await upload(client, b"x" * 900))
        before = await stored(database)
        other = ARTIFACT.replace("/n/", "/m/")
        for answer in (
            await upload(client, b"x" * 700, other),
            await store(client, text_output("x" * 700), path=f"{MEMORY}/namespaces/m"),
        ):
            assert answer.status_code == 429
            told = answer.json()["error"]["details"][0]
            assert told["metadata"]["quota"] == "artifact_bytes"
        assert await stored(database) == before
        ok(await client.delete(ARTIFACT))
        ok(await upload(client, b"x" * 700, other))
