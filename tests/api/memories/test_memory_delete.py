"""DELETE of a memory: wire specification, section 6.3."""

from datetime import timedelta

import httpx
import pytest
from sqlalchemy import select

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.memory.memories.store.tables import (
    MemoryRow,
    MemoryVectorRow,
    RevisionLabelRow,
    RevisionRow,
)
from app.platform.operations.services.runner import Runner
from app.platform.operations.store.tables import OperationRow
from app.settings.settings import Settings
from tests.support.bank import (
    ENGINE,
    GONE,
    after,
    count,
    field_of,
    history,
    id_of,
    listed,
    ok,
    refusal,
    retrieved,
    roll_back,
)
from tests.support.engines import API
from tests.support.operations import asked, create_memory, path_of

DERIVED = (MemoryRow, MemoryVectorRow, RevisionRow, RevisionLabelRow)


async def _with_history(client: httpx.AsyncClient, fact: str) -> str:
    """Create a memory of three revisions, two of them with a label."""
    labels = {"revisionLabels": {"source": "mail"}}
    path = path_of((await create_memory(client, fact, **labels))["name"])
    ok(await client.patch(path, json={"fact": f"{fact}!", **labels}))
    ok(await client.patch(path, json={"fact": f"{fact}!!"}))
    return path


async def test_delete_answers_an_operation_with_empty(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    operation = ok(await client.delete(path))
    times = {"createTime": "2026-01-15T12:00:00Z", "updateTime": "2026-01-15T12:00:00Z"}
    assert operation == {
        "name": operation["name"],
        "metadata": {
            "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1"
            ".DeleteMemoryOperationMetadata",
            "genericMetadata": times,
            **asked("memories.delete", operation),
            "scope": {"user_id": "42"},
        },
        "done": True,
        "response": {"@type": "type.googleapis.com/google.protobuf.Empty"},
    }
    assert operation["name"].startswith(f"{ENGINE}{path}/operations/")


async def test_a_deleted_memory_is_in_no_read(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    ok(await client.delete(path))
    assert refusal(await client.get(path)) == GONE
    assert await listed(client) == []
    assert await retrieved(client) == []
    assert await retrieved(client, similaritySearchParams={"searchQuery": "x"}) == []
    assert refusal(await client.patch(path, json={"fact": "y"})) == GONE
    assert refusal(await client.delete(path)) == GONE
    assert refusal(await client.delete("/memories/never")) == GONE


async def test_a_tombstone_keeps_its_revisions_but_no_vector(
    client: httpx.AsyncClient, database: Database
) -> None:
    path = await _with_history(client, "x")
    ok(await client.delete(path))
    assert await count(database, *DERIVED) == (1, 0, 4, 2)
    newest, *others = await history(client, path)
    assert (newest["action"], newest.get("fact")) == ("DELETED", "")
    assert [one["fact"] for one in others] == ["x!!", "x!", "x"]
    for revision in (newest, *others):
        assert ok(await client.get(path_of(revision["name"]))) == revision


async def test_permanent_removes_every_derived_row_and_counts_them(
    client: httpx.AsyncClient, database: Database
) -> None:
    kept = await _with_history(client, "kept")
    erased = await _with_history(client, "erased")
    operation = ok(await client.delete(erased, params={"permanent": "true"}))
    assert operation["done"]
    assert operation["response"] == {"@type": "type.googleapis.com/google.protobuf.Empty"}
    assert operation["metadata"]["erased"] == {
        "memories": 1,
        "vectors": 1,
        "revisions": 3,
        "labels": 2,
    }
    assert await count(database, *DERIVED) == (1, 1, 3, 2)
    assert await listed(client) == ["kept!!"]
    assert len(await history(client, kept)) == 3


async def test_permanent_leaves_no_way_back(client: httpx.AsyncClient) -> None:
    path = await _with_history(client, "x")
    revision = (await history(client, path))[-1]
    ok(await client.delete(path, params={"permanent": True}))
    assert refusal(await client.get(f"{path}/revisions")) == GONE
    assert refusal(await client.get(path_of(revision["name"]))) == GONE
    assert refusal(await roll_back(client, path, id_of(revision))) == GONE
    assert refusal(await client.delete(path, params={"permanent": True})) == GONE
    assert await history(client, "/memories/-") == []


async def test_permanent_takes_a_tombstone_too(
    client: httpx.AsyncClient, database: Database
) -> None:
    path = await _with_history(client, "x")
    ok(await client.delete(path))
    operation = ok(await client.delete(path, params={"permanent": True}))
    assert operation["metadata"]["erased"] == {
        "memories": 1,
        "vectors": 0,
        "revisions": 4,
        "labels": 2,
    }
    assert await count(database, *DERIVED) == (0, 0, 0, 0)


async def test_the_text_of_an_erased_memory_is_nowhere(
    client: httpx.AsyncClient, database: Database
) -> None:
    # An erased memory does not live on in operations.
    body = {"fact": "a secret", "scope": {"user_id": "42"}}
    created = ok(await client.post("/memories", json=body, params={"requestId": "r"}))
    path = path_of(created["response"]["name"])
    ok(await client.delete(path, params={"permanent": True}))
    assert "secret" not in (await client.get(path_of(created["name"]))).text
    assert "secret" not in (await client.get("/operations")).text
    async with database.snapshot() as session:
        rows = (await session.execute(select(OperationRow))).scalars().all()
    assert rows
    assert not [row for row in rows if "secret" in f"{row.request}{row.response}{row.details}"]


async def test_permanent_false_is_a_plain_deletion(client: httpx.AsyncClient) -> None:
    path = await _with_history(client, "x")
    ok(await client.delete(path, params={"permanent": "false"}))
    assert len(await history(client, path)) == 4


async def test_a_deletion_without_revisions_says_so(
    client: httpx.AsyncClient, clock: FixedClock, settings: Settings
) -> None:
    # No row, so no undo; the operation's metadata says so.
    url = f"http://test/v1beta1/{ENGINE}"
    body = {"contextSpec": {"memoryBankConfig": {"disableMemoryRevisions": True}}}
    ok(await client.patch(url, params={"updateMask": "context_spec"}, json=body))
    path = path_of((await create_memory(client, "x"))["name"])
    operation = ok(await client.delete(path))
    assert operation["metadata"]["revisionsDisabled"] is True
    assert await history(client, path) == []
    clock.advance(settings.recovery_window - timedelta(seconds=1))
    assert await history(client, path) == []


@pytest.mark.parametrize("permanent", ["false", "true"])
async def test_its_operation_is_named_below_the_memory_and_served_by_both_names(
    client: httpx.AsyncClient, permanent: str
) -> None:
    name = (await create_memory(client, "I like tea."))["name"]
    operation = ok(await client.delete(path_of(name), params={"permanent": permanent}))
    operation_id = operation["name"].rpartition("/")[2]
    assert operation["name"] == f"{name}/operations/{operation_id}"
    below_engine = f"{name.partition('/memories/')[0]}/operations/{operation_id}"
    for one in (operation["name"], below_engine):
        for method, verb in (("GET", ""), ("POST", ":wait")):
            assert ok(await client.request(method, f"{API}/{one}{verb}")) == operation
        assert ok(await client.post(f"{API}/{one}:cancel")) == {}
    (listed, *_) = ok(await client.get("/operations"))["operations"]
    assert listed["name"] == operation["name"]
    assert ok(await client.delete(f"{API}/{operation['name']}")) == {}
    assert refusal(await client.get(f"{API}/{below_engine}")) == GONE


async def test_a_deletion_is_undone_by_either_name_of_its_operation(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    for part in ("/memories/", "/operations/"):
        path = path_of((await create_memory(client, "I like tea."))["name"])
        operation = ok(await client.delete(path))
        engine, _, tail = operation["name"].partition("/memories/")
        other = f"{engine}/operations/{tail.rpartition('/')[2]}"
        asked = operation["name"] if part == "/memories/" else other
        undone = ok(await client.post(f"{API}/{asked}:undo"))
        assert undone["metadata"]["undoneOperation"] == operation["name"]
        await runner.run_pending()
        assert ok(await client.get(path))["fact"] == "I like tea."


async def test_the_revision_of_a_deletion_has_the_labels_and_the_life_that_are_given(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    labels = {"ticket": "1"}
    body: dict[str, object] = {"revisionLabels": labels, "revisionTtl": "60s"}
    bad: list[tuple[dict[str, object], str]] = [
        ({"revisionLabels": {"k" * 65: ""}}, "revisionLabels"),
        ({"disableMemoryRevisions": True}, "disableMemoryRevisions"),
        ({"revisionExpireTime": "2020-01-01T00:00:00Z"}, "revisionExpireTime"),
        ({**body, "revisionExpireTime": "2027-01-01T00:00:00Z"}, "body"),
    ]
    for wrong, field in bad:
        assert field_of(await client.request("DELETE", path, json=wrong)) == field
    # For good, there is no revision that could have them.
    for one, given in body.items():
        answer = await client.request(
            "DELETE", path, json={one: given}, params={"permanent": "true"}
        )
        assert field_of(answer) == one
    assert await listed(client) == ["x"]
    ok(await client.request("DELETE", path, json=body))
    (newest,) = await history(client, "/memories/-", filter='labels.ticket="1"')
    assert (newest["action"], newest["labels"]) == ("DELETED", labels)
    assert newest["expireTime"] == after(clock, seconds=60)
    ok(await client.request("DELETE", path, json={}, params={"permanent": "true"}))
