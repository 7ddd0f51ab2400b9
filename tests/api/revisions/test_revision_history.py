"""Revisions as they are made and read: wire specification, sections 6.1 and 6.2."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.memory.memories.store.tables import RevisionLabelRow
from app.platform.operations.services.runner import Runner
from tests.support.bank import (
    ENGINE,
    GONE,
    configure,
    count,
    field_of,
    history,
    id_of,
    ok,
    refusal,
    roll_back,
)
from tests.support.operations import USER, create_memory, generate, path_of

FULL: dict[str, Any] = {
    "displayName": "dn",
    "description": "ds",
    "topics": [{"managedMemoryTopic": "USER_PREFERENCES"}],
    "metadata": {"src": {"stringValue": "a"}, "when": {"timestampValue": "2030-01-02T03:04:05Z"}},
    "context": "cx",
    "structuredContent": {"data": {"a_b": [1, None]}, "schemaId": "s"},
    "expireTime": "2030-01-01T00:00:00Z",
}
YEAR_LATER = "2027-01-15T12:00:00Z"


async def test_a_revision_is_a_full_snapshot(client: httpx.AsyncClient) -> None:
    body = {"fact": "I like tea.", "scope": USER, **FULL, "revisionLabels": {"a": "1"}}
    operation = ok(await client.post("/memories", json=body))
    memory = operation["response"]
    (revision,) = await history(client, path_of(memory["name"]))
    assert revision == {
        "name": f"{memory['name']}/revisions/{id_of(revision)}",
        "scope": USER,
        "caller": revision["caller"],
        "createTime": "2026-01-15T12:00:00Z",
        "expireTime": YEAR_LATER,
        "fact": "I like tea.",
        "labels": {"a": "1"},
        "structuredData": {"a_b": [1, None]},
        "context": "cx",
        "action": "CREATED",
        "displayName": "dn",
        "description": "ds",
        "topics": FULL["topics"],
        "metadata": FULL["metadata"],
        "structuredContent": FULL["structuredContent"],
        "memoryType": "NATURAL_LANGUAGE_COLLECTION",
        "memoryExpireTime": FULL["expireTime"],
        "operation": operation["name"],
    }
    # Section 2.5: an int64, as text.
    assert 0 < int(id_of(revision)) < 2**63
    assert ok(await client.get(path_of(revision["name"]))) == revision


async def test_every_mutation_adds_one_and_changes_none(
    client: httpx.AsyncClient, clock: FixedClock, runner: Runner
) -> None:
    await generate(client, runner, "I like tea.")
    (memory,) = ok(await client.get("/memories"))["memories"]
    path = path_of(memory["name"])
    seen = await history(client, path)

    async def expect(action: str, fact: str | None) -> None:
        newest, *others = await history(client, path)
        assert (newest["action"], newest.get("fact")) == (action, fact)
        assert others == seen
        seen.insert(0, newest)
        clock.advance(timedelta(minutes=1))

    await generate(client, runner, "I like tea.")
    await expect("UPDATED", memory["fact"])
    ok(await client.patch(path, json={"fact": "I like coffee."}))
    await expect("UPDATED", "I like coffee.")
    ok(await client.patch(path, json={"displayName": "d"}))
    await expect("UPDATED", "I like coffee.")
    ok(await client.delete(path))
    await expect("DELETED", "")
    ok(await roll_back(client, path, id_of(seen[-1])))
    await expect("ROLLED_BACK", memory["fact"])
    ok(await client.post("/memories:purge", json={"filter": 'fact=~".*"', "force": True}))
    await expect("DELETED", "")


async def test_a_deletion_s_revision_is_empty(client: httpx.AsyncClient) -> None:
    """Its fact is empty, and absent where the content was structured alone."""
    path = path_of((await create_memory(client, "x", **FULL))["name"])
    body = {"scope": USER, "structuredContent": FULL["structuredContent"]}
    structured = path_of(ok(await client.post("/memories", json=body))["response"]["name"])
    for deleted, fact in ((path, ""), (structured, None)):
        ok(await client.delete(deleted))
        newest = (await history(client, deleted))[0]
        assert newest.get("fact") == fact
        assert not {"structuredData", "structuredContent"} & newest.keys()
        assert ok(await client.get(path_of(newest["name"]))) == newest
        assert newest in await history(client, "/memories/-")


async def test_extracted_memories_are_only_where_generation_made_it(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await generate(client, runner, "I like tea.")
    (memory,) = ok(await client.get("/memories"))["memories"]
    path = path_of(memory["name"])
    ok(await client.patch(path, json={"fact": "y"}))
    updated, created = await history(client, path)
    assert created["extractedMemories"] == [{"fact": "I like tea.", "context": "I like tea."}]
    assert created["author"].startswith("builtin-rules/")
    assert not {"extractedMemories", "author"} & updated.keys()


async def test_revisions_cannot_be_written(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    (revision,) = await history(client, path)
    one = path_of(revision["name"])
    for answer in (
        await client.patch(one, json={"fact": "y"}),
        await client.delete(one),
        await client.post(f"{path}/revisions", json={"fact": "y"}),
    ):
        assert answer.status_code == 405
    assert await history(client, path) == [revision]


async def test_pages_are_newest_first_while_revisions_are_added(
    client: httpx.AsyncClient,
) -> None:
    path = path_of((await create_memory(client, "0"))["name"])
    for number in range(1, 5):
        ok(await client.patch(path, json={"fact": str(number)}))
    for url in (f"{path}/revisions", "/memories/-/revisions"):
        before = [one["fact"] for one in ok(await client.get(url))["memoryRevisions"]]
        facts: list[str] = []
        params: dict[str, str | int] = {"pageSize": 2}
        while True:
            page = ok(await client.get(url, params=params))
            facts += [one["fact"] for one in page["memoryRevisions"]]
            if not page.get("nextPageToken"):
                break
            params["pageToken"] = page["nextPageToken"]
            ok(await client.patch(path, json={"fact": "late"}))
        assert facts == before


async def test_a_token_belongs_to_its_memory_and_filter(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "0"))["name"])
    ok(await client.patch(path, json={"fact": "1"}))
    other = path_of((await create_memory(client, "0"))["name"])
    url = f"{path}/revisions"
    token = ok(await client.get(url, params={"pageSize": 1}))["nextPageToken"]
    for found, params in (
        (f"{other}/revisions", {}),
        ("/memories/-/revisions", {}),
        (url, {"filter": 'labels.a="1"'}),
    ):
        answer = await client.get(found, params={**params, "pageToken": token})
        assert field_of(answer) == "pageToken"


async def test_labels_filter_one_memory_and_all_of_an_engine(
    client: httpx.AsyncClient, clock: FixedClock, database: Database
) -> None:
    first = path_of((await create_memory(client, "a", revisionLabels={"src": "321"}))["name"])
    clock.advance(timedelta(minutes=1))
    other = await create_memory(client, "b", revisionLabels={"src": "321", "x y": 'q"'})
    clock.advance(timedelta(minutes=1))
    ok(await client.patch(first, json={"fact": "a2", "revisionLabels": {"src": "9"}}))
    ok(await client.patch(first, json={"fact": "a3"}))

    async def facts(path: str, text: str) -> list[str]:
        return [one["fact"] for one in await history(client, path, filter=text)]

    assert await facts(first, 'labels.src="321"') == ["a"]
    assert await facts("/memories/-", 'labels.src="321"') == ["b", "a"]
    assert await facts("/memories/-", "labels.src=321") == ["b", "a"]
    assert await facts("/memories/-", 'labels.src="321" OR labels.src="9"') == ["a2", "b", "a"]
    assert await facts("/memories/-", r'labels."x y"="q\""') == ["b"]
    assert await facts("/memories/-", 'labels.src="none"') == []
    assert await facts("/memories/-", "") == ["a3", "a2", "b", "a"]
    assert await count(database, RevisionLabelRow) == (4,)
    # A deleted memory's revisions are still found, an erased one's are not.
    path = path_of(other["name"])
    ok(await client.delete(path))
    assert await facts("/memories/-", 'labels.src="321"') == ["b", "a"]
    ok(await client.delete(path, params={"permanent": True}))
    assert await facts("/memories/-", 'labels.src="321"') == ["a"]
    assert await count(database, RevisionLabelRow) == (2,)


async def test_another_engine_s_revisions_are_not_seen(client: httpx.AsyncClient) -> None:
    created = ok(await client.post("http://test/v1/reasoningEngines"))
    other = created["response"]["name"]
    await create_memory(client, "x", revisionLabels={"a": "1"})
    path = path_of((ok(await client.get("/memories"))["memories"][0])["name"])
    (revision,) = await history(client, path)
    url = f"http://test/v1/{other}/memories"
    listed = ok(await client.get(f"{url}/-/revisions", params={"filter": 'labels.a="1"'}))
    assert listed == {"memoryRevisions": []}
    foreign = f"http://test/v1/{revision['name'].replace(ENGINE, other)}"
    assert refusal(await client.get(foreign)) == GONE


async def test_unknown_revisions_are_404(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    other = path_of((await create_memory(client, "y"))["name"])
    (revision,) = await history(client, other)
    for name in ("1", "0", "-1", "abc", "99999999999999999999", id_of(revision)):
        assert refusal(await client.get(f"{path}/revisions/{name}")) == GONE
    for url in ("/memories/never/revisions", "/memories/never/revisions/1"):
        assert refusal(await client.get(url)) == GONE


@pytest.mark.parametrize("by", ["request", "bank"])
async def test_disabled_revisions_are_not_made_and_the_operation_says_so(
    client: httpx.AsyncClient, runner: Runner, by: str
) -> None:
    fields = {"disableMemoryRevisions": True} if by == "request" else {}
    await configure(client, disableMemoryRevisions=by == "bank")
    body = {"fact": "x", "scope": USER, **fields}
    created = ok(await client.post("/memories", json=body))
    path = path_of(created["response"]["name"])
    updated = ok(await client.patch(path, json={"fact": "y", **fields}))
    facts = {"directMemories": [{"fact": "I like tea."}]}
    body = {"scope": {"u": "2"}, "directMemoriesSource": facts, **fields}
    generating = ok(await client.post("/memories:generate", json=body))
    await runner.run_pending()
    generated = ok(await client.get(path_of(generating["name"])))
    for operation in (created, updated, generated):
        assert operation["metadata"]["revisionsDisabled"] is True
    assert created["response"]["fact"] == "x"
    assert await history(client, "/memories/-") == []
