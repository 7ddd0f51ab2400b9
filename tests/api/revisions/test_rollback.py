"""Rollback: wire specification, section 6.4."""

from datetime import timedelta
from typing import Any

import httpx

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.bank import (
    GONE,
    STALE,
    Json,
    after,
    configure,
    field_of,
    history,
    id_of,
    listed,
    ok,
    refusal,
    retrieve,
    retrieved,
    roll_back,
)
from tests.support.operations import create_memory, path_of
from tests.support.rows import rows_with
from tests.support.scripted_models import ScriptedEmbedder

FULL: dict[str, Any] = {
    "displayName": "dn",
    "description": "ds",
    "topics": [{"managedMemoryTopic": "USER_PREFERENCES"}],
    "metadata": {"src": {"stringValue": "a"}},
    "context": "cx",
    "structuredContent": {"data": {"a": 1}, "schemaId": "s"},
}


async def test_a_live_memory_becomes_what_it_was(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    memory = await create_memory(client, "x", **FULL)
    path = path_of(memory["name"])
    ok(await client.patch(path, json={"fact": "y"}, params={"updateMask": "*"}))
    first = (await history(client, path))[-1]
    clock.advance(timedelta(minutes=1))
    operation = ok(await roll_back(client, path, id_of(first)))
    assert operation["done"]
    assert operation["metadata"]["@type"].endswith(".RollbackMemoryOperationMetadata")
    restored = ok(await client.get(path))
    assert restored == {**memory, "etag": "3", "updateTime": "2026-01-15T12:01:00Z"}
    assert operation["response"] == {**restored, "@type": operation["response"]["@type"]}


async def test_a_rollback_is_a_revision_that_names_what_it_restored(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path = path_of((await create_memory(client, "x", **FULL))["name"])
    ok(await client.patch(path, json={"fact": "y"}))
    *_, first = before = await history(client, path)
    clock.advance(timedelta(minutes=1))
    operation = ok(await roll_back(client, path, id_of(first)))
    newest, *others = await history(client, path)
    assert others == before
    assert newest == {
        **first,
        "name": newest["name"],
        "createTime": "2026-01-15T12:01:00Z",
        "expireTime": after(clock, days=365),
        "action": "ROLLED_BACK",
        "operation": operation["name"],
        "restoredRevision": first["name"],
    }


async def test_a_rollback_can_be_rolled_back(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    ok(await client.patch(path, json={"fact": "y"}))
    for fact in ("x", "y", "x"):
        target = next(one for one in await history(client, path) if one["fact"] == fact)
        ok(await roll_back(client, path, id_of(target)))
        assert ok(await client.get(path))["fact"] == fact


async def test_the_target_may_be_an_id_a_number_or_a_full_name(
    client: httpx.AsyncClient,
) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    for form in ("id", "number", "name"):
        ok(await client.patch(path, json={"fact": "y"}))
        first = (await history(client, path))[-1]
        target = {"id": id_of(first), "number": int(id_of(first)), "name": first["name"]}[form]
        body = {"target_revision_id": target}
        ok(await client.post(f"{path}:rollback", json=body))
        assert ok(await client.get(path))["fact"] == "x"


async def test_a_deleted_memory_comes_back_inside_the_window(
    client: httpx.AsyncClient, clock: FixedClock, embedder: ScriptedEmbedder
) -> None:
    memory = await create_memory(client, "x", **FULL)
    path = path_of(memory["name"])
    ok(await client.delete(path))
    clock.advance(timedelta(hours=48) - timedelta(seconds=1))
    ok(await roll_back(client, path, id_of((await history(client, path))[-1])))
    found = ok(await client.get(path))
    assert found == {**memory, "etag": "3", "updateTime": after(clock, seconds=0)}
    assert await listed(client) == await retrieved(client) == ["x"]
    # Its vector is there again, and is the right one.
    embedder.place("q", near="x", distance=0.25)
    (near,) = await retrieve(client, explain=True, similaritySearchParams={"searchQuery": "q"})
    assert round(near["explanation"]["vectorDistance"], 2) == 0.25
    # The window is that of the deletion: it does not end the memory that came back.
    clock.advance(timedelta(days=30))
    assert await listed(client) == ["x"]


async def test_a_rollback_of_a_tombstone_to_an_older_fact_has_that_fact_s_vector(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder
) -> None:
    embedder.place("q", near="old", distance=0.5)
    path = path_of((await create_memory(client, "old"))["name"])
    ok(await client.patch(path, json={"fact": "new"}))
    (far,) = await retrieve(client, explain=True, similaritySearchParams={"searchQuery": "q"})
    ok(await client.delete(path))
    ok(await roll_back(client, path, id_of((await history(client, path))[-1])))
    (near,) = await retrieve(client, explain=True, similaritySearchParams={"searchQuery": "q"})
    assert (near["memory"]["fact"], round(near["explanation"]["vectorDistance"], 2)) == ("old", 0.5)
    assert far["explanation"]["vectorDistance"] > 1


async def test_after_the_window_nothing_is_left(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    ok(await client.delete(path))
    *_, first = await history(client, path)
    clock.advance(timedelta(hours=48))
    assert refusal(await roll_back(client, path, id_of(first))) == GONE
    assert refusal(await client.get(f"{path}/revisions")) == GONE
    assert refusal(await client.get(path_of(first["name"]))) == GONE
    assert await history(client, "/memories/-") == []


async def test_the_revision_of_a_deletion_holds_nothing_to_restore(
    client: httpx.AsyncClient,
) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    ok(await client.delete(path))
    newest = (await history(client, path))[0]
    answer = await roll_back(client, path, id_of(newest))
    assert refusal(answer) == (400, "FAILED_PRECONDITION")
    assert answer.json()["error"]["details"][0]["reason"] == "REVISION_IS_DELETION"
    assert refusal(await client.get(path)) == GONE


async def test_a_target_must_be_a_revision_of_this_memory(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    other = path_of((await create_memory(client, "y"))["name"])
    (foreign,) = await history(client, other)
    for target in ("1", id_of(foreign), foreign["name"], "99999999999999999999"):
        assert refusal(await roll_back(client, path, target)) == GONE
    for bad in ("", "abc", "-1", "1.5"):
        assert field_of(await roll_back(client, path, bad)) == "targetRevisionId"
    assert field_of(await client.post(f"{path}:rollback", json={})) == "targetRevisionId"
    assert refusal(await roll_back(client, "/memories/never", id_of(foreign))) == GONE
    assert await listed(client) == ["y", "x"]


async def test_expiry_is_recomputed_as_for_an_update(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path = path_of((await create_memory(client, "x", ttl="1000s"))["name"])
    target = id_of((await history(client, path))[-1])
    ok(await client.patch(path, json={"fact": "y", "ttl": "5000s"}))
    present = after(clock, seconds=5000)
    clock.advance(timedelta(seconds=10))
    # The expiry is no content: the present one stays, that of the revision does not come back.
    assert ok(await roll_back(client, path, target))["response"]["expireTime"] == present
    await configure(client, ttlConfig={"granularTtlConfig": {"createTtl": "77s"}})
    assert ok(await roll_back(client, path, target))["response"]["expireTime"] == present
    await configure(client, ttlConfig={"defaultTtl": "77s"})
    found = ok(await roll_back(client, path, target))["response"]["expireTime"]
    assert found == after(clock, seconds=77)


async def test_a_rollback_without_revisions_says_so(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    target = id_of((await history(client, path))[-1])
    await configure(client, disableMemoryRevisions=True)
    ok(await client.patch(path, json={"fact": "y"}))
    operation = ok(await roll_back(client, path, target))
    assert operation["metadata"]["revisionsDisabled"] is True
    assert ok(await client.get(path))["fact"] == "x"
    assert len(await history(client, path)) == 1


async def test_no_work_is_left_for_a_worker(client: httpx.AsyncClient, runner: Runner) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    ok(await roll_back(client, path, id_of((await history(client, path))[-1])))
    assert await runner.run_pending() == 0


_CONTENT = (
    "fact",
    "displayName",
    "description",
    "topics",
    "metadata",
    "structuredContent",
    "context",
)


def _content(memory: Json) -> Json:
    return {name: memory[name] for name in _CONTENT if name in memory}


async def _plan(client: httpx.AsyncClient, path: str, target: str, **fields: Any) -> Json:
    """Ask for what a rollback would do; return the operation, which must be done."""
    body = {"targetRevisionId": target, "validateOnly": True, **fields}
    operation = ok(await client.post(f"{path}:rollback", json=body))
    assert operation["done"]
    return operation


async def test_a_plan_is_what_the_rollback_then_does(client: httpx.AsyncClient) -> None:
    made = await create_memory(client, "x", **FULL)
    path = path_of(made["name"])
    ok(await client.patch(path, json={"fact": "y", "topics": []}))
    present, (_, first) = ok(await client.get(path)), await history(client, path)
    operation = await _plan(client, path, first["name"])
    assert operation["metadata"]["@type"].endswith(".RollbackMemoryOperationMetadata")
    assert operation["metadata"]["validateOnly"] is True
    assert operation["response"]["@type"].endswith(".RollbackMemoryResponse")
    planned = {
        "action": "ROLLED_BACK",
        "memory": {"name": made["name"]},
        "etag": "2",
        "restoredRevision": first["name"],
        "before": _content(present),
        "after": _content(made),
    }
    assert operation["response"]["plannedChanges"] == [planned]
    assert ok(await client.get(path_of(operation["name"]))) == operation
    assert ok(await client.get(path)) == present
    assert len(await history(client, path)) == 2
    body, stale = {"targetRevisionId": id_of(first)}, {"If-Match": "1"}
    assert refusal(await client.post(f"{path}:rollback", json=body, headers=stale)) == STALE
    headers = {"If-Match": planned["etag"]}
    done = ok(await client.post(f"{path}:rollback", json=body, headers=headers))
    assert _content(done["response"]) == planned["after"]
    # The texts are those of then, and a plan that is out of date is told by its etag.
    assert ok(await client.get(path_of(operation["name"]))) == operation
    answer = await client.post(f"{path}:rollback", json=body, headers=headers)
    assert refusal(answer) == STALE


async def test_a_plan_that_restores_nothing_new_says_so(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x", **FULL))["name"])
    (newest,) = await history(client, path)
    (planned,) = (await _plan(client, path, id_of(newest)))["response"]["plannedChanges"]
    assert planned["before"] == planned["after"] != {}
    ok(await client.delete(path))
    (planned,) = (await _plan(client, path, id_of(newest)))["response"]["plannedChanges"]
    # What is deleted has nothing before.
    assert "before" not in planned
    assert planned["after"]["fact"] == "x"


async def test_a_plan_keeps_no_texts_of_its_own(
    client: httpx.AsyncClient, database: Database
) -> None:
    path = path_of((await create_memory(client, "a secret"))["name"])
    ok(await client.patch(path, json={"fact": "a secret, too"}))
    operation = await _plan(client, path, id_of((await history(client, path))[-1]))
    assert operation["response"]["plannedChanges"][0]["after"] == {"fact": "a secret"}
    assert "operations" not in await rows_with(database, "secret")
    assert "secret" not in (await client.get("/operations")).text
    ok(await client.delete(path, params={"permanent": True}))
    left = ok(await client.get(path_of(operation["name"])))["response"]["plannedChanges"]
    assert left[0].keys() == {"action", "memory", "etag", "restoredRevision"}


async def test_a_plan_is_refused_where_the_rollback_is(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    body = {"targetRevisionId": "1", "validateOnly": True}
    assert refusal(await client.post(f"{path}:rollback", json=body)) == GONE
    (first,) = await history(client, path)
    body["targetRevisionId"] = id_of(first)
    headers = {"If-Match": "9"}
    assert refusal(await client.post(f"{path}:rollback", json=body, headers=headers)) == STALE
    past = {**body, "revisionExpireTime": "2020-01-01T00:00:00Z"}
    assert field_of(await client.post(f"{path}:rollback", json=past)) == "revisionExpireTime"
    ok(await client.delete(path))
    body["targetRevisionId"] = id_of((await history(client, path))[0])
    answer = await client.post(f"{path}:rollback", json=body)
    assert answer.json()["error"]["details"][0]["reason"] == "REVISION_IS_DELETION"


async def test_the_revision_has_the_labels_and_the_life_that_are_given(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    target = {"targetRevisionId": id_of((await history(client, path))[0])}
    body: Json
    for life, ends in (
        ({"revisionTtl": "60s"}, after(clock, seconds=60)),
        ({"revisionExpireTime": "2027-01-01T00:00:00Z"}, "2027-01-01T00:00:00Z"),
    ):
        body = {**target, "revisionLabels": {"ticket": "1"}, **life}
        ok(await client.post(f"{path}:rollback", json=body))
        newest = (await history(client, path))[0]
        assert (newest["labels"], newest["expireTime"]) == ({"ticket": "1"}, ends)
    body = {**target, "disableMemoryRevisions": True}
    operation = ok(await client.post(f"{path}:rollback", json=body))
    assert operation["metadata"]["revisionsDisabled"] is True
    assert len(await history(client, path)) == 3
    bad: list[Json] = [
        {"revisionLabels": {"k" * 65: ""}},
        {"revisionTtl": "60s", "disableMemoryRevisions": True},
    ]
    for fields, field in zip(bad, ("revisionLabels", "body"), strict=True):
        answer = await client.post(f"{path}:rollback", json={**target, **fields})
        assert field_of(answer) == field
