"""What the undo of each kind of operation does: issue, section 6."""

from datetime import timedelta
from typing import Any

import httpx

from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support import generation
from tests.support.bank import (
    ENGINE,
    GONE,
    Json,
    after,
    history,
    id_of,
    listed,
    ok,
    refusal,
    retrieve,
    retrieved,
    roll_back,
)
from tests.support.ingestion import OSLO, TEA, ended, ingest
from tests.support.operations import USER, asked, path_of
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.undo import skipped, undo, undone

FULL: dict[str, Any] = {
    "displayName": "dn",
    "description": "ds",
    "topics": [{"managedMemoryTopic": "USER_PREFERENCES"}],
    "metadata": {"src": {"stringValue": "a"}},
    "context": "cx",
    "structuredContent": {"data": {"a": 1}, "schemaId": "s"},
    "ttl": "864000s",
}
_TYPES = "type.googleapis.com/google.cloud.aiplatform.v1beta1."


async def _create(client: httpx.AsyncClient, fact: str, **fields: Any) -> Json:
    """Create a memory; return the operation."""
    return ok(await client.post("/memories", json={"fact": fact, "scope": USER, **fields}))


async def _made(client: httpx.AsyncClient, fact: str, **fields: Any) -> str:
    """Create a memory; return its path."""
    return path_of((await _create(client, fact, **fields))["response"]["name"])


async def test_the_operation_tells_what_it_undid(client: httpx.AsyncClient, runner: Runner) -> None:
    created = await _create(client, "tea")
    path = path_of(created["response"]["name"])
    (first,) = await history(client, path)
    done = await undo(client, runner, created["name"])
    assert done == {
        "name": done["name"],
        "metadata": {
            "@type": _TYPES + "UndoOperationOperationMetadata",
            "genericMetadata": done["metadata"]["genericMetadata"],
            **asked("undo.undo", done, attemptCount=1),
            "scope": created["metadata"]["scope"],
            "startTime": "2026-01-15T12:00:00Z",
            "undoneOperation": created["name"],
            "undoneCount": 1,
            "skippedCount": 0,
        },
        "done": True,
        "response": {
            "@type": _TYPES + "UndoOperationResponse",
            "undoneMemories": [
                {
                    "memory": {"name": created["response"]["name"]},
                    "action": "DELETED",
                    "previousRevision": first["name"],
                }
            ],
        },
    }
    assert done["name"].startswith(f"{ENGINE}/operations/")


async def test_what_was_created_is_deleted_and_can_be_recovered(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    created = await _create(client, "tea")
    path = path_of(created["response"]["name"])
    done = await undo(client, runner, created["name"])
    assert refusal(await client.get(path)) == GONE
    assert await listed(client) == await retrieved(client) == []
    newest, oldest = await history(client, path)
    assert (newest["action"], newest["operation"]) == ("DELETED", done["name"])
    ok(await roll_back(client, path, id_of(oldest)))
    assert await retrieved(client) == ["tea"]


async def test_what_was_updated_is_as_before_in_every_field(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    path = await _made(client, "tea", **FULL)
    before = ok(await client.get(path))
    first = (await history(client, path))[0]
    clock.advance(timedelta(minutes=1))
    other = {"fact": "coffee", "displayName": "other", "topics": [], "metadata": {}, "ttl": "60s"}
    updated = ok(await client.patch(path, json=other))
    done = await undo(client, runner, updated["name"])
    assert list(undone(done).values()) == ["UPDATED"]
    found = ok(await client.get(path))
    assert found == {**before, "etag": "3", "updateTime": after(clock, seconds=0)}
    newest = (await history(client, path))[0]
    assert newest == {
        **first,
        "name": newest["name"],
        "createTime": after(clock, seconds=0),
        "expireTime": after(clock, days=365),
        "action": "ROLLED_BACK",
        "operation": done["name"],
        "restoredRevision": first["name"],
    }


async def test_an_updated_fact_has_its_vector_of_before(
    client: httpx.AsyncClient, runner: Runner, embedder: ScriptedEmbedder
) -> None:
    embedder.place("q", near="tea", distance=0.25)
    path = await _made(client, "tea")
    updated = ok(await client.patch(path, json={"fact": "coffee"}))
    await undo(client, runner, updated["name"])
    (near,) = await retrieve(client, explain=True, similaritySearchParams={"searchQuery": "q"})
    assert (near["memory"]["fact"], round(near["explanation"]["vectorDistance"], 2)) == (
        "tea",
        0.25,
    )


async def test_an_unchanged_fact_is_not_embedded_again(
    client: httpx.AsyncClient, runner: Runner, embedder: ScriptedEmbedder
) -> None:
    path = await _made(client, "tea", ttl="100s")
    updated = ok(await client.patch(path, json={"description": "hot", "ttl": "200s"}))
    calls = len(embedder.calls)
    await undo(client, runner, updated["name"])
    assert len(embedder.calls) == calls
    assert "description" not in ok(await client.get(path))
    assert await retrieved(client) == ["tea"]


async def test_what_was_deleted_is_there_again_and_is_found(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock, embedder: ScriptedEmbedder
) -> None:
    embedder.place("q", near="tea", distance=0.25)
    path = await _made(client, "tea", **FULL)
    before = ok(await client.get(path))
    deleted = ok(await client.delete(path))
    clock.advance(timedelta(hours=48) - timedelta(seconds=1))
    done = await undo(client, runner, deleted["name"])
    assert list(undone(done).values()) == ["RESTORED"]
    found = ok(await client.get(path))
    assert found == {**before, "etag": "3", "updateTime": after(clock, seconds=0)}
    (near,) = await retrieve(client, explain=True, similaritySearchParams={"searchQuery": "q"})
    assert round(near["explanation"]["vectorDistance"], 2) == 0.25
    # The window was the deletion's: it does not end the memory that came back.
    clock.advance(timedelta(days=3))
    assert await listed(client) == ["tea"]


async def test_a_structured_memory_needs_no_vector(
    client: httpx.AsyncClient, runner: Runner, embedder: ScriptedEmbedder
) -> None:
    body = {"structuredContent": {"data": {"a": 1}, "schemaId": "s"}, "scope": USER}
    path = path_of(ok(await client.post("/memories", json=body))["response"]["name"])
    deleted = ok(await client.delete(path))
    done = await undo(client, runner, deleted["name"])
    assert list(undone(done).values()) == ["RESTORED"]
    assert ok(await client.get(path))["structuredContent"] == body["structuredContent"]
    assert embedder.calls == []


async def test_a_rollback_is_undone(client: httpx.AsyncClient, runner: Runner) -> None:
    path = await _made(client, "tea")
    ok(await client.patch(path, json={"fact": "coffee"}))
    rolled = ok(await roll_back(client, path, id_of((await history(client, path))[-1])))
    assert await retrieved(client) == ["tea"]
    done = await undo(client, runner, rolled["name"])
    assert list(undone(done).values()) == ["UPDATED"]
    assert await retrieved(client) == ["coffee"]


async def test_a_rollback_that_brought_a_memory_back_is_undone_by_deleting_it(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await _made(client, "tea")
    ok(await client.delete(path))
    rolled = ok(await roll_back(client, path, id_of((await history(client, path))[-1])))
    done = await undo(client, runner, rolled["name"])
    assert list(undone(done).values()) == ["DELETED"]
    assert await listed(client) == []


async def test_a_purge_is_undone_for_all_it_took_and_nothing_else(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    for fact in ("tea", "coffee"):
        await _made(client, fact)
    other = {"user_id": "7"}
    ok(await client.post("/memories", json={"fact": "milk", "scope": other}))
    deleted = await _made(client, "water")
    ok(await client.delete(deleted))
    body = {"filter": 'scope.user_id="42"', "force": True}
    purge = ok(await client.post("/memories:purge", json=body))
    assert await listed(client) == ["milk"]
    done = await undo(client, runner, purge["name"])
    assert list(undone(done).values()) == ["RESTORED"] * 2
    assert sorted(await listed(client)) == ["coffee", "milk", "tea"]
    assert sorted(await retrieved(client)) == ["coffee", "tea"]


async def test_a_generation_is_undone_in_all_three_ways(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    city = await _made(client, "I live in Paris.")
    tea = await _made(client, "I like tea.")
    before = [ok(await client.get(path)) for path in (city, tea)]
    texts = ("I moved to London.", "Please forget that I like tea.", "My dog is called Rex.")
    operation = await generation.run(client, runner, generation.said(*texts))
    changes = {
        id_of(one["memory"]): one["action"] for one in operation["response"]["generatedMemories"]
    }
    assert sorted(changes.values()) == ["CREATED", "DELETED", "UPDATED"]
    done = await undo(client, runner, operation["name"])
    opposite = {"CREATED": "DELETED", "UPDATED": "UPDATED", "DELETED": "RESTORED"}
    assert undone(done) == {name: opposite[action] for name, action in changes.items()}
    now = [ok(await client.get(path)) for path in (city, tea)]
    kept = [{**one, "etag": "3"} for one in before]
    assert now == kept
    assert sorted(await retrieved(client)) == ["I like tea.", "I live in Paris."]


async def test_an_ingestion_is_undone_through_the_generation_that_it_fired(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    fired = await ended(client, runner, await ingest(client, TEA, OSLO, forceFlush=True))
    assert sorted(await retrieved(client)) == [TEA, OSLO]
    done = await undo(client, runner, fired["name"])
    assert done["metadata"]["undoneOperation"] == fired["name"]
    assert list(undone(done).values()) == ["DELETED"] * 2
    assert await retrieved(client) == []


async def test_an_ingestion_is_undone_when_the_generation_s_operation_is_forgotten(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    fired = await ended(client, runner, await ingest(client, TEA, OSLO, forceFlush=True))
    ok(await client.delete(path_of(fired["response"]["generateMemoriesOperation"])))
    done = await undo(client, runner, fired["name"])
    assert list(undone(done).values()) == ["DELETED"] * 2
    assert await retrieved(client) == []


async def test_an_undo_is_undone_again_and_again(client: httpx.AsyncClient, runner: Runner) -> None:
    changed, removed = await _made(client, "I live in Paris."), await _made(client, "I like tea.")
    texts = ("I moved to London.", "Please forget that I like tea.", "My dog is called Rex.")
    operation = await generation.run(client, runner, generation.said(*texts))
    made = sorted(await retrieved(client))
    last = operation["name"]
    old = ["I like tea.", "I live in Paris."]
    for expected in (old, made, old):
        done = await undo(client, runner, last)
        assert len(undone(done)) == 3
        assert skipped(done) == {}
        assert sorted(await retrieved(client)) == expected
        last = done["name"]
    assert (await history(client, changed))[0]["operation"] == last
    assert len(await history(client, removed)) == 5


async def test_what_was_done_in_turn_is_undone_in_turn(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    """Where an undo has put a memory back, nothing is left of what was done since."""
    texts = ("I live in Paris.", "I live in Oslo.", "I live in Rome.")
    operations = [await generation.run(client, runner, generation.given(text)) for text in texts]
    path = path_of(operations[0]["response"]["generatedMemories"][0]["memory"]["name"])
    operations.append(ok(await client.delete(path)))
    told = []
    for operation in reversed(operations):
        done = await undo(client, runner, operation["name"])
        told.append((*undone(done).values(), *await retrieved(client)))
    assert told == [
        ("RESTORED", "I live in Rome."),
        ("UPDATED", "I live in Oslo."),
        ("UPDATED", "I live in Paris."),
        ("DELETED",),
    ]


async def test_what_a_rollback_has_put_back_is_as_its_operation_left_it(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await _made(client, "tea")
    first, second = [
        ok(await client.patch(path, json={"fact": fact})) for fact in ("milk", "water")
    ]
    ok(await roll_back(client, path, id_of((await history(client, path))[1])))
    done = await undo(client, runner, second["name"])
    assert skipped(done) == {path.rpartition("/")[2]: "CHANGED_SINCE"}
    done = await undo(client, runner, first["name"])
    assert list(undone(done).values()) == ["UPDATED"]
    assert await retrieved(client) == ["tea"]


async def test_a_second_undo_finds_everything_changed(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await _made(client, "tea")
    deleted = ok(await client.delete(path))
    await undo(client, runner, deleted["name"])
    again = await undo(client, runner, deleted["name"])
    assert skipped(again) == {path.rpartition("/")[2]: "CHANGED_SINCE"}
    assert undone(again) == {}
    assert await listed(client) == ["tea"]


async def test_labels_are_those_of_the_request(client: httpx.AsyncClient, runner: Runner) -> None:
    path = await _made(client, "tea")
    updated = ok(await client.patch(path, json={"fact": "milk", "revisionLabels": {"a": "1"}}))
    done = await undo(client, runner, updated["name"], revisionLabels={"why": "mistake"})
    newest, _, first = await history(client, path)
    assert newest["labels"] == {"why": "mistake"}
    assert "labels" not in first
    (found,) = await history(client, "/memories/-", filter='labels.why="mistake"')
    assert found["operation"] == done["name"]


async def test_to_validate_only_tells_and_changes_nothing(
    client: httpx.AsyncClient, runner: Runner, embedder: ScriptedEmbedder
) -> None:
    path = await _made(client, "tea")
    updated = ok(await client.patch(path, json={"fact": "milk"}))
    before, calls = await history(client, path), len(embedder.calls)
    told = await undo(client, runner, updated["name"], validateOnly=True)
    assert told["metadata"]["validateOnly"] is True
    assert list(undone(told).values()) == ["UPDATED"]
    assert (await history(client, path), len(embedder.calls)) == (before, calls)
    done = await undo(client, runner, updated["name"])
    assert done["response"] == told["response"]
    assert await retrieved(client) == ["tea"]


async def test_an_operation_is_undone_under_every_spelling_of_its_name(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await _made(client, "tea")
    last = id_of(ok(await client.patch(path, json={"fact": "milk"})))
    for parent in (
        "http://test/v1/reasoningEngines/1",
        "http://test/v1beta1/memoryBanks/1",
        f"http://test/v1beta1/{ENGINE}{path}",
        f"http://test/v1beta1/{ENGINE}/sessions/5",
    ):
        queued = ok(await client.post(f"{parent}/operations/{last}:undo"))
        await runner.run_pending()
        last = id_of(queued)
        done = ok(await client.get(f"/operations/{last}"))
        assert list(undone(done).values()) == ["UPDATED"], parent
