"""POST {E}/memories:import of what was there before: deleted, changed, expired, or joined."""

import asyncio
import json
from datetime import timedelta

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.memory.bulk.logic import CHUNK_LINES
from app.memory.memories.store.tables import MemoryRow
from app.platform.operations.services.runner import Runner
from app.platform.operations.store.tables import OperationRow
from app.settings.settings import Settings
from tests.support.bank import (
    BAD,
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
from tests.support.keys import client_with, make_key
from tests.support.operations import USER, path_of
from tests.support.undo import undo, undone

_NDJSON = {"content-type": "application/x-ndjson"}


def line(fact: str, memory_id: str, **fields: object) -> Json:
    return {"fact": fact, "scope": USER, "memoryId": memory_id, **fields}


async def send(client: httpx.AsyncClient, *lines: Json, **query: str | int) -> httpx.Response:
    body = "\n".join(map(json.dumps, lines))
    return await client.post("/memories:import", content=body, headers=_NDJSON, params=query)


async def counts(client: httpx.AsyncClient, *lines: Json, **query: str | int) -> dict[str, int]:
    """Return the counts of an import that are not zero."""
    answer = ok(await send(client, *lines, **query))
    return {name: number for name, number in answer.items() if type(number) is int and number}


_MANY = [line(f"Fact {n}.", f"mem0-{n:032x}") for n in range(CHUNK_LINES + 50)]


async def test_an_import_that_was_undone_can_be_repeated_and_undone_again(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    first = ok(await send(client, *_MANY))
    await undo(client, runner, first["operation"])
    assert await listed(client) == []
    again = ok(await send(client, *_MANY))
    assert (again["imported"], again["restored"], again["failed"]) == (0, len(_MANY), 0)
    assert await count(database, MemoryRow) == (len(_MANY),)
    assert len(await listed(client, pageSize=1_000)) == len(_MANY)
    assert await counts(client, *_MANY) == {"existing": len(_MANY)}
    operation = ok(await client.get(path_of(again["operation"])))
    assert operation["response"]["restored"] == len(_MANY)
    done = await undo(client, runner, again["operation"])
    assert set(undone(done).values()) == {"DELETED"}
    assert await listed(client) == []


async def test_a_deleted_memory_comes_back_with_the_content_of_its_line(
    client: httpx.AsyncClient,
) -> None:
    ok(await send(client, line("I drink tea.", "a", displayName="d", ttl="600s")))
    ok(await client.delete("/memories/a"))
    assert await counts(client, line("I drink coffee.", "a")) == {"restored": 1}
    memory = ok(await client.get("/memories/a"))
    assert (memory["fact"], memory["etag"]) == ("I drink coffee.", "3")
    assert "displayName" not in memory
    assert "expireTime" not in memory
    assert await retrieved(client, simpleRetrievalParams={}) == ["I drink coffee."]
    actions = [one["action"] for one in await history(client, "/memories/a")]
    assert actions == ["UNDELETED", "DELETED", "CREATED"]


async def test_a_memory_past_recovery_is_created_anew(
    client: httpx.AsyncClient, clock: FixedClock, settings: Settings
) -> None:
    ok(await send(client, line("tea", "a")))
    ok(await client.delete("/memories/a"))
    clock.advance(settings.recovery_window + timedelta(seconds=1))
    assert await counts(client, line("tea", "a")) == {"imported": 1}
    assert len(await history(client, "/memories/a")) == 1


async def test_without_permission_a_deleted_memory_stays_deleted(
    app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    user = client_with(app, await make_key(database, clock.now(), "user"))
    ok(await send(user, line("tea", "a")))
    ok(await client.delete("/memories/a"))
    answer = ok(await send(user, line("tea", "a")))
    assert (answer["restored"], answer["failed"]) == (0, 1)
    assert answer["errors"][0]["error"]["message"].startswith("memoryId: ")
    assert await listed(client) == []
    editor = client_with(app, await make_key(database, clock.now(), "editor"))
    assert await counts(editor, line("tea", "a")) == {"restored": 1}


async def test_what_was_changed_here_is_left_alone_unless_it_is_to_be_overwritten(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    lines = [line("tea", "a", displayName="d"), line("milk", "b")]
    ok(await send(client, *lines))
    ok(await client.patch("/memories/a", json={"fact": "changed"}))
    assert await counts(client, *lines) == {"existing": 1, "changedHere": 1}
    assert sorted(await listed(client)) == ["changed", "milk"]
    answer = ok(await send(client, *lines, overwrite="true"))
    assert (answer["changedHere"], answer["overwritten"], answer["existing"]) == (1, 1, 1)
    assert sorted(await listed(client)) == ["milk", "tea"]
    search = {"searchQuery": "tea", "topK": 1}
    assert await retrieved(client, similaritySearchParams=search) == ["tea"]
    revisions = await history(client, "/memories/a")
    assert [one["action"] for one in revisions] == ["UPDATED", "UPDATED", "CREATED"]
    assert [one["fact"] for one in revisions] == ["tea", "changed", "tea"]
    done = await undo(client, runner, answer["operation"])
    assert undone(done) == {"a": "UPDATED"}
    assert sorted(await listed(client)) == ["changed", "milk"]


async def test_overwriting_replaces_the_whole_memory(client: httpx.AsyncClient) -> None:
    ok(await send(client, line("tea", "a", displayName="d", ttl="600s")))
    metadata = {"source": {"stringValue": "form"}}
    same = line("tea", "a", metadata=metadata)
    assert await counts(client, same, overwrite="true") == {"changedHere": 1, "overwritten": 1}
    memory = ok(await client.get("/memories/a"))
    assert memory["metadata"] == metadata
    assert not {"displayName", "expireTime"} & memory.keys()
    assert await counts(client, same, overwrite="true") == {"existing": 1}


async def test_a_line_never_moves_a_memory_to_another_scope_or_type(
    client: httpx.AsyncClient,
) -> None:
    ok(await send(client, line("tea", "a"), line("milk", "b")))
    ok(await client.delete("/memories/b"))
    lines = [
        {**line("tea", "a"), "scope": {"user_id": "43"}},
        line("tea", "a", memoryType="STRUCTURED_PROFILE"),
        {**line("milk", "b"), "scope": {"user_id": "43"}},
    ]
    for overwrite in ("false", "true"):
        answer = ok(await send(client, *lines, overwrite=overwrite))
        assert answer["failed"] == 3
        assert {one["error"]["code"] for one in answer["errors"]} == {6}
    assert await listed(client) == ["tea"]


async def test_of_lines_with_one_id_the_last_stays_if_it_may_overwrite(
    client: httpx.AsyncClient,
) -> None:
    lines = [line("one", "a"), line("two", "a"), line("two", "a"), line("three", "a")]
    assert await counts(client, *lines, overwrite="true") == {
        "imported": 1,
        "existing": 1,
        "changedHere": 2,
        "overwritten": 2,
    }
    assert await listed(client) == ["three"]
    assert len(await history(client, "/memories/a")) == 3


async def test_what_names_its_source_is_there_when_it_is_sent_again(
    client: httpx.AsyncClient,
) -> None:
    named = {
        "source": {"stringValue": "form"},
        "position": {"doubleValue": 2},
        "event_time": {"timestampValue": "2030-01-02T03:04:05Z"},
    }
    assert await counts(client, line("tea", "a", metadata=named)) == {"imported": 1}
    assert await counts(client, line("tea", "a", metadata=named)) == {"existing": 1}


async def test_what_has_expired_is_counted_and_not_stored(
    client: httpx.AsyncClient, clock: FixedClock, database: Database
) -> None:
    lines = [
        line("over", "a", expireTime=after(clock, seconds=-1)),
        line("now", "b", expireTime=after(clock, seconds=0)),
        line("ahead", "c", expireTime=after(clock, seconds=1)),
        line("wrong", "d", expireTime="yesterday"),
    ]
    assert await counts(client, *lines) == {"imported": 1, "expired": 2, "failed": 1}
    assert await listed(client) == ["ahead"]
    assert await count(database, MemoryRow) == (1,)


@pytest.mark.parametrize("number", ["99", "10001", "x", "-1"])
async def test_a_wrong_number_of_errors_is_refused(client: httpx.AsyncClient, number: str) -> None:
    assert field_of(await send(client, line("tea", "a"), maxErrors=number)) == "maxErrors"
    assert await listed(client) == []


async def test_overwriting_needs_its_permission(
    app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    user = client_with(app, await make_key(database, clock.now(), "user"))
    answer = await send(user, line("tea", "a"), overwrite="true")
    assert refusal(answer) == (403, "PERMISSION_DENIED")
    assert "memories.update" in answer.text
    assert await listed(client) == []
    ok(await send(user, line("tea", "a"), overwrite="false"))


class TestImportId:
    async def test_requests_with_one_id_are_one_operation(
        self, client: httpx.AsyncClient, runner: Runner, database: Database
    ) -> None:
        ok(await send(client, line("before", "z")))
        first = ok(await send(client, line("tea", "a"), importId="run 1"))
        second = ok(
            await send(client, line("milk", "b"), line("{", "c", ttl="x"), importId="run 1")
        )
        other = ok(await send(client, line("salt", "d"), importId="run 2"))
        assert first["operation"] == second["operation"] != other["operation"]
        assert (second["imported"], second["failed"]) == (1, 1)
        operation = ok(await client.get(path_of(first["operation"])))
        assert operation["done"]
        assert operation["response"]["imported"] == 2
        assert await count(database, OperationRow) == (3,)
        done = await undo(client, runner, first["operation"])
        assert undone(done) == {"a": "DELETED", "b": "DELETED"}
        assert sorted(await listed(client)) == ["before", "salt"]
        # An undone import that goes on is undone as a whole again.
        third = ok(await send(client, line("tea", "a"), line("oil", "e"), importId="run 1"))
        assert third["operation"] == first["operation"]
        assert (third["imported"], third["restored"]) == (1, 1)
        done = await undo(client, runner, first["operation"])
        assert undone(done) == {"a": "DELETED", "e": "DELETED"}

    async def test_requests_at_once_share_the_operation_and_lose_no_count(
        self, client: httpx.AsyncClient
    ) -> None:
        parts = [_MANY[n::3] for n in range(3)]
        answers = await asyncio.gather(*(send(client, *part, importId="run") for part in parts))
        (operation,) = {ok(answer)["operation"] for answer in answers}
        found = ok(await client.get(path_of(operation)))
        assert found["response"]["imported"] == len(_MANY)
        assert not any("Idempotent-Replayed" in answer.headers for answer in answers)

    async def test_masked_values_are_counted_over_all_requests(
        self, client: httpx.AsyncClient
    ) -> None:
        rule = {"kind": "EMAIL", "action": "MASK", "where": ["DIRECT"]}
        await configure(client, privacyConfig={"rules": [rule]})
        created = "2020-01-01T00:00:00Z"
        lines = [line(f"Write to {name}@example.com.", name, createTime=created) for name in "ab"]
        ok(await send(client, lines[0], importId="run"))
        answer = ok(await send(client, lines[1], importId="run"))
        operation = ok(await client.get(path_of(answer["operation"])))
        assert operation["metadata"]["maskedCounts"] == {"EMAIL": 2}
        assert operation["response"]["imported"] == 2
        memory = ok(await client.get("/memories/a"))
        assert (memory["fact"], memory["createTime"]) == ("Write to [EMAIL].", created)

    async def test_an_id_is_its_callers_and_no_request_id(
        self, app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock
    ) -> None:
        other = client_with(app, await make_key(database, clock.now(), "admin"))
        first = ok(await send(client, line("tea", "a"), importId="run"))
        second = ok(await send(other, line("milk", "b"), importId="run"))
        assert first["operation"] != second["operation"]
        body = {"fact": "salt", "scope": USER}
        created = ok(await client.post("/memories", params={"requestId": "run"}, json=body))
        assert created["name"] != first["operation"]

    async def test_a_removed_operation_is_not_joined(self, client: httpx.AsyncClient) -> None:
        first = ok(await send(client, line("tea", "a"), importId="run"))
        ok(await client.delete(path_of(first["operation"])))
        answer = await send(client, line("milk", "b"), importId="run")
        assert refusal(answer) == (404, "NOT_FOUND")
        assert answer.json()["error"]["message"].startswith("importId: ")
        assert await listed(client) == ["tea"]

    async def test_what_changes_nothing_has_no_operation(self, client: httpx.AsyncClient) -> None:
        ok(await send(client, line("tea", "a")))
        assert "operation" not in ok(await send(client, line("tea", "a"), importId="run"))

    @pytest.mark.parametrize("chosen", ["x" * 129, "a\nb"])
    async def test_an_id_is_printable_and_short(
        self, client: httpx.AsyncClient, chosen: str
    ) -> None:
        answer = await send(client, line("tea", "a"), importId=chosen)
        assert refusal(answer) == BAD
        assert field_of(answer) == "importId"

    async def test_an_empty_id_is_none(self, client: httpx.AsyncClient) -> None:
        operations = [
            ok(await send(client, line("tea", name), importId=""))["operation"] for name in "ab"
        ]
        assert len(set(operations)) == 2


class TestAtOnce:
    async def test_imports_of_the_same_lines_double_nothing(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        answers = await asyncio.gather(send(client, *_MANY), send(client, *reversed(_MANY)))
        found = [ok(answer) for answer in answers]
        assert sum(one["imported"] for one in found) == len(_MANY)
        assert sum(one["existing"] for one in found) == len(_MANY)
        assert await count(database, MemoryRow) == (len(_MANY),)

    async def test_imports_bring_the_same_memories_back_once(
        self, client: httpx.AsyncClient, runner: Runner
    ) -> None:
        half = _MANY[::2]
        await undo(client, runner, ok(await send(client, *half))["operation"])
        answers = await asyncio.gather(send(client, *_MANY), send(client, *reversed(_MANY)))
        found = [ok(answer) for answer in answers]
        assert sum(one["restored"] for one in found) == len(half)
        assert sum(one["imported"] for one in found) == len(_MANY) - len(half)
        assert not any(one["failed"] for one in found)


async def test_each_line_has_its_own_revision_options(client: httpx.AsyncClient) -> None:
    names = ["a", "b", "c"]
    ok(await send(client, *(line("tea", name) for name in names)))
    options: list[Json] = [
        {"revisionLabels": {"run": "2"}},
        {"revisionLabels": {"run": "3"}},
        {"disableMemoryRevisions": True},
    ]
    lines = [line("milk", name, **own) for name, own in zip(names, options, strict=True)]
    assert (await counts(client, *lines, overwrite="true"))["overwritten"] == 3
    found = {name: await history(client, f"/memories/{name}") for name in names}
    assert {name: len(revisions) for name, revisions in found.items()} == {"a": 2, "b": 2, "c": 1}
    assert [found[name][0]["labels"]["run"] for name in "ab"] == ["2", "3"]
