"""POST {E}/memories:batchCreate: many memories at once, all or each for itself."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.memory.memories.store.tables import MemoryRow, MemoryVectorRow, RevisionRow
from app.platform.operations.services.runner import Runner
from app.platform.operations.store.tables import OperationRow
from tests.support.audit import events
from tests.support.bank import (
    BAD,
    ENGINE,
    TAKEN,
    Json,
    after,
    configure,
    count,
    field_of,
    history,
    listed,
    ok,
    refusal,
    retrieved,
)
from tests.support.operations import USER, create_memory, path_of
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.undo import ask

_TYPE = "type.googleapis.com/google.cloud.aiplatform.v1beta1."


def new(fact: str = "I like tea.", memory_id: str | None = None, **fields: Any) -> Json:
    found: Json = {"memory": {"fact": fact, "scope": USER, **fields}}
    return found if memory_id is None else {**found, "memoryId": memory_id}


async def batch(client: httpx.AsyncClient, *requests: Json, **fields: Any) -> httpx.Response:
    params = {"requestId": fields.pop("requestId")} if "requestId" in fields else {}
    body = {"requests": list(requests), **fields}
    return await client.post("/memories:batchCreate", json=body, params=params)


def facts(operation: Json) -> list[str | None]:
    return [one.get("fact") for one in operation["response"]["memories"]]


async def test_memories_are_created_in_their_order(client: httpx.AsyncClient) -> None:
    operation = ok(
        await batch(client, new("one", "first", displayName="d"), new("two"), new("three"))
    )
    assert operation["done"]
    assert operation["name"].startswith(f"{ENGINE}/operations/")
    assert operation["metadata"]["@type"] == _TYPE + "BatchCreateMemoriesOperationMetadata"
    response = operation["response"]
    assert response["@type"] == _TYPE + "BatchCreateMemoriesResponse"
    assert "results" not in response
    assert facts(operation) == ["one", "two", "three"]
    memories = response["memories"]
    assert memories[0]["name"] == f"{ENGINE}/memories/first"
    for memory in memories:
        assert ok(await client.get(path_of(memory["name"]))) == memory
        (revision,) = await history(client, path_of(memory["name"]))
        assert revision["fact"] == memory["fact"]
    assert ok(await client.get(path_of(operation["name"]))) == operation
    assert sorted(await retrieved(client)) == ["one", "three", "two"]


async def test_memories_are_found_by_their_meaning(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder
) -> None:
    embedder.place("warm drinks", near="I like tea.", distance=0.1)
    ok(await batch(client, new("I have a dog."), new("I like tea."), new("I like tea.")))
    assert len(embedder.calls) == 1, "one batch"
    assert embedder.calls[0] == ["I have a dog.", "I like tea."], "each fact once"
    search = {"searchQuery": "warm drinks", "topK": 2}
    found = await retrieved(client, similaritySearchParams=search)
    assert found == ["I like tea.", "I like tea."]


async def test_names_are_read_in_either_spelling(client: httpx.AsyncClient) -> None:
    memory = {"fact": "x", "scope": USER, "display_name": "d"}
    operation = ok(await batch(client, {"memory": memory, "memory_id": "mine"}))
    (found,) = operation["response"]["memories"]
    assert (found["name"].rpartition("/")[2], found["displayName"]) == ("mine", "d")


async def test_five_hundred_are_taken_and_one_more_is_refused(
    client: httpx.AsyncClient, database: Database
) -> None:
    operation = ok(await batch(client, *(new(f"Fact {n}.") for n in range(500))))
    assert facts(operation) == [f"Fact {n}." for n in range(500)]
    names = {memory["name"] for memory in operation["response"]["memories"]}
    assert len(names) == 500
    answer = await batch(client, *(new(f"Fact {n}.") for n in range(501)))
    assert field_of(answer) == "requests"
    assert "500" in answer.text
    assert field_of(await batch(client)) == "requests"
    tables = (MemoryRow, MemoryVectorRow, RevisionRow, OperationRow)
    assert await count(database, *tables) == (500, 500, 500, 1)


_WRONG: list[tuple[Json, str]] = [
    ({"memory": {"fact": "x", "scope": USER, "ttl": 60}}, "requests[1].memory.ttl"),
    ({"memory": {"fact": "x", "scope": USER, "factt": "x"}}, "requests[1].memory.factt"),
    ({"memory": {"fact": "x"}}, "requests[1].memory.scope"),
    ({"memory": {"scope": USER}}, "requests[1].memory"),
    ({}, "requests[1].memory"),
    ({"memory": {"fact": "x", "scope": USER}, "memoryId": "A"}, "requests[1].memoryId"),
    ({"memory": {"fact": "x", "scope": USER}, "memory_id": 1}, "requests[1].memoryId"),
    ({"memory": {"fact": "x", "scope": USER}, "other": 1}, "requests[1].other"),
    (new(expireTime="2020-01-01T00:00:00Z"), "requests[1].memory.expireTime"),
    (new(revisionExpireTime="2020-01-01T00:00:00Z"), "requests[1].memory.revisionExpireTime"),
    (new("x", "mine"), "requests[1].memoryId"),
]


async def test_of_an_atomic_batch_all_or_none_are_created(
    client: httpx.AsyncClient, database: Database
) -> None:
    for wrong, field in _WRONG:
        answer = await batch(client, new("good", "mine"), wrong)
        assert (wrong, field_of(answer)) == (wrong, field)
    assert field_of(await batch(client, new("good"), "text", 7)) == "requests[1]"  # type: ignore[arg-type]
    assert await count(database, MemoryRow, OperationRow) == (0, 0)


async def test_of_another_batch_each_is_for_itself(client: httpx.AsyncClient) -> None:
    requests = [wrong for wrong, _ in _WRONG]
    operation = ok(await batch(client, new("good", "mine"), *requests, new("end"), atomic=False))
    assert facts(operation) == ["good", "end"]
    results = operation["response"]["results"]
    names = [{"memory": {"name": one["name"]}} for one in operation["response"]["memories"]]
    assert [results[0], results[-1]] == names
    for number, ((_, field), result) in enumerate(zip(_WRONG, results[1:-1], strict=True), 1):
        error = result["error"]
        assert error["code"] == 3
        (violation, *_) = error["details"][1]["fieldViolations"]
        assert violation["field"] == field.replace("[1]", f"[{number}]")
    assert ok(await client.get(path_of(operation["name"]))) == operation


async def test_an_id_that_is_taken_refuses_all_or_its_own(client: httpx.AsyncClient) -> None:
    ok(await batch(client, new("old", "mine")))
    answer = await batch(client, new("a"), new("b", "mine"))
    assert refusal(answer) == TAKEN
    assert "requests[1].memoryId" in answer.json()["error"]["message"]
    assert await listed(client) == ["old"]
    operation = ok(await batch(client, new("a"), new("b", "mine"), new("c"), atomic=False))
    assert facts(operation) == ["a", "c"]
    codes = [one.get("error", {}).get("code") for one in operation["response"]["results"]]
    assert codes == [None, 6, None]
    assert sorted(await listed(client)) == ["a", "c", "old"]


async def test_an_expired_memory_does_not_hold_its_id(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    ok(await batch(client, new("old", "mine", ttl="60s")))
    clock.advance(timedelta(seconds=60))
    ok(await batch(client, new("new", "mine")))
    assert await listed(client) == ["new"]


async def test_a_batch_of_which_nothing_can_be_created_is_answered(
    client: httpx.AsyncClient,
) -> None:
    operation = ok(await batch(client, {}, {"memory": {}}, atomic=False))
    assert operation["response"]["memories"] == []
    assert [set(one) for one in operation["response"]["results"]] == [{"error"}, {"error"}]


async def test_a_batch_that_is_repeated_is_done_once(client: httpx.AsyncClient) -> None:
    first = ok(await batch(client, new("x"), requestId="one"))
    assert ok(await batch(client, new("x"), requestId="one")) == first
    assert refusal(await batch(client, new("y"), requestId="one")) == TAKEN
    other = await batch(client, new("x"), requestId="one", atomic=False)
    assert refusal(other) == TAKEN
    assert await listed(client) == ["x"]


async def test_each_has_its_own_life_and_its_revision_its_own(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await configure(client, ttlConfig={"defaultTtl": "600s"})
    operation = ok(
        await batch(
            client,
            new("a", "a", ttl="60s", revisionLabels={"run": "1"}, revisionTtl="120s"),
            new("b", "b", expireTime="2030-01-01T00:00:00Z", revisionLabels={"run": "2"}),
            new("c", "c", disableMemoryRevisions=True),
        )
    )
    ends = [one["expireTime"] for one in operation["response"]["memories"]]
    assert ends == [after(clock, seconds=60), "2030-01-01T00:00:00Z", after(clock, minutes=10)]
    (revision,) = await history(client, "/memories/a")
    assert (revision["labels"], revision["expireTime"]) == (
        {"run": "1"},
        after(clock, seconds=120),
    )
    found = await history(client, "/memories/-", filter='labels.run="2"')
    assert [one["fact"] for one in found] == ["b"]
    assert await history(client, "/memories/c") == []
    assert "revisionsDisabled" not in operation["metadata"]
    quiet = ok(await batch(client, new("d", disableMemoryRevisions=True)))
    assert quiet["metadata"]["revisionsDisabled"] is True


async def test_the_answer_tells_the_memories_as_the_batch_left_them(
    client: httpx.AsyncClient,
) -> None:
    operation = ok(await batch(client, new("a", "a"), new("b", "b"), new("c", "c")))
    ok(await client.patch("/memories/a", json={"fact": "changed"}))
    ok(await client.delete("/memories/b"))
    assert ok(await client.get(path_of(operation["name"]))) == operation
    ok(await client.delete("/memories/c", params={"permanent": True}))
    left = ok(await client.get(path_of(operation["name"])))
    assert facts(left) == ["a", "b", None]
    assert left["response"]["memories"][2]["name"].endswith("/memories/c")


async def test_a_whole_batch_is_undone(client: httpx.AsyncClient, runner: Runner) -> None:
    await create_memory(client, "before")
    requests = [new(f"Fact {n}.") for n in range(60)]
    operation = ok(await batch(client, *requests, new("quiet", "q", disableMemoryRevisions=True)))
    assert len(await listed(client, pageSize=100)) == 62
    undo = ok(await ask(client, operation["name"]))
    await runner.run_pending()
    done = ok(await client.get(path_of(undo["name"])))
    assert len(done["response"]["undoneMemories"]) == 60
    (skipped,) = done["response"]["skippedMemories"]
    assert skipped["memory"]["name"].endswith("/memories/q")
    assert sorted(await listed(client)) == ["before", "quiet"]


async def test_a_batch_is_one_event_of_the_audit_log(client: httpx.AsyncClient) -> None:
    operation = ok(await batch(client, new("a"), new("b")))
    await batch(client, new("c"), {})
    found = [one for one in await events(client) if one["method"] == "batchCreateMemories"]
    assert [one["result"] for one in found] == ["INVALID_ARGUMENT", "OK"]
    assert found[1]["operation"] == operation["name"]


async def test_the_text_of_memories_is_in_no_error(client: httpx.AsyncClient) -> None:
    for fields in ({"ttl": "s3cret"}, {"topics": ["s3cret"]}, {"displayName": ["s3cret"]}):
        for atomic in (True, False):
            answer = await batch(client, new("s3cret" * 3_000, **fields), atomic=atomic)
            assert "s3cret" not in answer.text


async def test_a_batch_is_a_body_as_any(client: httpx.AsyncClient) -> None:
    answer = await client.post("/memories:batchCreate", json={"requests": {}, "atomic": 3})
    assert refusal(answer) == BAD
    assert refusal(await batch(client, new(), other=1)) == BAD


@pytest.mark.parametrize("engine", ["reasoningEngines/2", "reasoningEngines/1x"])
async def test_the_engine_must_exist(client: httpx.AsyncClient, engine: str) -> None:
    url = f"http://test/v1beta1/{engine}/memories:batchCreate"
    assert refusal(await client.post(url, json={"requests": [new()]})) == (404, "NOT_FOUND")
