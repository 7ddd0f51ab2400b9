"""What an undo leaves alone, and why."""

from datetime import timedelta
from typing import Any

import httpx
from sqlalchemy import update

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.memory.memories.store.tables import RevisionRow
from app.platform.operations.services.runner import Runner
from tests.support import generation
from tests.support.bank import (
    after,
    configure,
    history,
    id_of,
    listed,
    ok,
    retrieved,
    roll_back,
)
from tests.support.operations import create_memory, path_of
from tests.support.undo import skipped, undo, undone

HOUR = timedelta(hours=1)


async def _path(client: httpx.AsyncClient, fact: str, **fields: Any) -> str:
    return path_of((await create_memory(client, fact, **fields))["name"])


async def _purge(client: httpx.AsyncClient) -> str:
    """Purge everything; return the operation's name."""
    body = {"filter": 'fact=~".*"', "force": True}
    name: str = ok(await client.post("/memories:purge", json=body))["name"]
    return name


def _id(path: str) -> str:
    return path.rpartition("/")[2]


async def test_memories_changed_since_are_left_alone_and_listed(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    back, purged = await _path(client, "tea"), await _path(client, "milk")
    purge = await _purge(client)
    ok(await roll_back(client, back, id_of((await history(client, back))[-1])))
    ok(await client.patch(back, json={"fact": "green tea"}))
    before = await history(client, back)
    done = await undo(client, runner, purge)
    name = before[0]["name"].partition("/revisions")[0]
    left = [{"memory": {"name": name}, "reason": "CHANGED_SINCE"}]
    assert done["response"]["skippedMemories"] == left
    assert undone(done) == {_id(purged): "RESTORED"}
    assert await history(client, back) == before
    assert sorted(await listed(client)) == ["green tea", "milk"]


async def test_a_change_that_kept_no_revision_counts_as_well(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await _path(client, "tea")
    updated = ok(await client.patch(path, json={"fact": "milk"}))
    ok(await client.patch(path, json={"fact": "water", "disableMemoryRevisions": True}))
    done = await undo(client, runner, updated["name"])
    assert skipped(done) == {_id(path): "CHANGED_SINCE"}
    assert await listed(client) == ["water"]


async def test_what_was_deleted_too_long_ago_is_listed(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    path = await _path(client, "tea")
    purge = await _purge(client)
    clock.advance(timedelta(hours=48))
    done = await undo(client, runner, purge)
    assert skipped(done) == {_id(path): "NOT_RECOVERABLE"}
    assert undone(done) == {}
    assert await listed(client) == []


async def test_what_has_expired_since_is_listed(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    path = await _path(client, "tea", ttl="3600s")
    updated = ok(await client.patch(path, json={"fact": "milk"}))
    clock.advance(HOUR)
    done = await undo(client, runner, updated["name"])
    assert skipped(done) == {_id(path): "EXPIRED"}
    assert await listed(client) == []


async def test_what_was_before_is_not_known_where_no_revision_was_kept(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await _path(client, "tea", disableMemoryRevisions=True)
    updated = ok(await client.patch(path, json={"fact": "milk"}))
    done = await undo(client, runner, updated["name"])
    assert skipped(done) == {_id(path): "REVISION_NOT_KEPT"}
    assert await listed(client) == ["milk"]


async def test_a_deleted_memory_is_put_back_also_where_no_earlier_revision_is_kept(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    short, long = await _path(client, "tea", revisionTtl="3600s"), await _path(client, "milk")
    purge = await _purge(client)
    clock.advance(HOUR)
    done = await undo(client, runner, purge)
    assert skipped(done) == {}
    assert undone(done) == {_id(short): "RESTORED", _id(long): "RESTORED"}
    assert sorted(await listed(client)) == ["milk", "tea"]


async def test_a_deletion_that_kept_no_revision_is_undone(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    path = await _path(client, "tea", disableMemoryRevisions=True, ttl="3600s")
    before = ok(await client.get(path))
    await _path(client, "milk")
    await configure(client, disableMemoryRevisions=True)
    deletion = ok(await client.delete(path))
    # Also where it would have expired meanwhile, as with `:undelete`.
    clock.advance(HOUR)
    done = await undo(client, runner, deletion["name"])
    assert undone(done) == {_id(path): "RESTORED"}
    assert "previousRevision" not in done["response"]["undoneMemories"][0]
    after = ok(await client.get(path))
    same = {"name", "fact", "scope", "createTime"}
    assert {key: after[key] for key in same} == {key: before[key] for key in same}
    # Once it lives again, another undo finds nothing to do.
    again = await client.post(f"{path_of(deletion['name'])}:undo")
    assert again.json()["error"]["details"][0]["reason"] == "NOTHING_TO_UNDO"


async def test_a_later_deletion_is_not_taken_for_the_one_that_kept_no_revision(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path = await _path(client, "tea")
    await configure(client, disableMemoryRevisions=True)
    deletion = ok(await client.delete(path))
    ok(await client.post(f"{path}:undelete"))
    clock.advance(HOUR)
    ok(await client.delete(path))
    refused = await client.post(f"{path_of(deletion['name'])}:undo")
    assert refused.json()["error"]["details"][0]["reason"] == "NOTHING_TO_UNDO"


async def test_what_was_erased_since_is_listed_where_its_name_is_known(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    facts = ("I like tea.", "I live in Oslo.")
    operation = await generation.run(client, runner, generation.given(*facts))
    erased, kept = [one["memory"]["name"] for one in operation["response"]["generatedMemories"]]
    ok(await client.delete(path_of(erased), params={"permanent": True}))
    done = await undo(client, runner, operation["name"])
    assert skipped(done) == {_id(erased): "ERASED"}
    assert undone(done) == {_id(kept): "DELETED"}


async def test_a_change_whose_own_revision_has_ended_is_listed_where_its_name_is_known(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock, database: Database
) -> None:
    operation = await generation.run(client, runner, generation.given("I like tea.", "I am 40."))
    first, second = [one["memory"]["name"] for one in operation["response"]["generatedMemories"]]
    async with database.transaction() as session:
        await session.execute(
            update(RevisionRow)
            .where(RevisionRow.engine_id == 1, RevisionRow.memory_id == _id(first))
            .values(expire_time=clock.now())
        )
    done = await undo(client, runner, operation["name"])
    assert skipped(done) == {_id(first): "REVISION_NOT_KEPT"}
    assert undone(done) == {_id(second): "DELETED"}


async def test_a_memory_made_anew_under_the_same_id_is_another(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    query = {"memoryId": "chosen"}
    body = {"fact": "tea", "scope": {"user_id": "42"}}
    ok(await client.post("/memories", json=body, params=query))
    await _path(client, "milk")
    purge = await _purge(client)
    ok(await client.delete("/memories/chosen", params={"permanent": True}))
    ok(await client.post("/memories", json={**body, "fact": "new"}, params=query))
    done = await undo(client, runner, purge)
    assert (len(undone(done)), skipped(done)) == (1, {})
    assert sorted(await listed(client)) == ["milk", "new"]


async def test_the_expiry_of_before_counts_while_it_lies_ahead(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    never, soon = await _path(client, "never"), await _path(client, "soon", ttl="7200s")
    later = after(clock, hours=2)
    updates = [
        ok(await client.patch(path, json={"fact": "x", "ttl": "864000s"}))["name"]
        for path in (never, soon)
    ]
    clock.advance(HOUR)
    for name in updates:
        await undo(client, runner, name)
    assert "expireTime" not in ok(await client.get(never))
    assert ok(await client.get(soon))["expireTime"] == later
    clock.advance(HOUR)
    assert await retrieved(client) == ["never"]


async def test_an_expiry_of_before_that_is_over_is_recomputed_as_for_a_rollback(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    paths = [await _path(client, "tea", ttl="3600s") for _ in range(2)]
    first, second = [
        ok(await client.patch(path, json={"fact": "milk", "ttl": "864000s"}))["name"]
        for path in paths
    ]
    present = ok(await client.get(paths[0]))["expireTime"]
    clock.advance(2 * HOUR)
    await undo(client, runner, first)
    await configure(client, ttlConfig={"defaultTtl": "77s"})
    await undo(client, runner, second)
    assert await listed(client) == ["tea", "tea"]
    expiries = [ok(await client.get(path))["expireTime"] for path in paths]
    assert expiries == [present, after(clock, seconds=77)]


async def test_a_memory_whose_life_ended_while_it_was_deleted_stays_deleted(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    ended, lives = await _path(client, "tea", ttl="3600s"), await _path(client, "milk", ttl="9000s")
    end = ok(await client.get(lives))["expireTime"]
    purge = await _purge(client)
    clock.advance(2 * HOUR)
    done = await undo(client, runner, purge)
    assert skipped(done) == {_id(ended): "EXPIRED"}
    assert undone(done) == {_id(lives): "RESTORED"}
    assert ok(await client.get(lives))["expireTime"] == end
    assert await retrieved(client) == ["milk"]


async def test_a_bank_that_keeps_no_revisions_now_says_so(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await _path(client, "tea")
    updated = ok(await client.patch(path, json={"fact": "milk"}))
    await configure(client, disableMemoryRevisions=True)
    done = await undo(client, runner, updated["name"])
    assert done["metadata"]["revisionsDisabled"] is True
    assert await retrieved(client) == ["tea"]
    assert len(await history(client, path)) == 2
