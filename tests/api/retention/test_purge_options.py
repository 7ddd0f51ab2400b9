"""Purge: samples of what a count would take, and the revisions that a purge makes."""

from datetime import timedelta

import httpx

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from tests.support.bank import Json, after, field_of, history, listed, ok
from tests.support.operations import USER, create_memory, path_of
from tests.support.rows import rows_with


async def _purge(client: httpx.AsyncClient, **body: object) -> Json:
    return ok(await client.post("/memories:purge", json=body))


async def _stage(client: httpx.AsyncClient, clock: FixedClock) -> dict[str, str]:
    """Create memories a minute apart, two of them of one user; return their paths by fact."""
    paths = {}
    for fact, user in (("tea", "123"), ("coffee", "123"), ("milk", "7")):
        paths[fact] = path_of((await create_memory(client, fact, {"user_id": user}))["name"])
        clock.advance(timedelta(minutes=1))
    return paths


async def test_a_count_shows_the_newest_of_what_it_counts(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    paths = await _stage(client, clock)
    body = {"filter": 'fact=~".*"'}
    newest = ok(await client.get("/memories"))["memories"]
    for size, shown in ((1, newest[:1]), (2, newest[:2]), (100, newest)):
        operation = await _purge(client, **body, sampleSize=size)
        assert operation["response"] == {
            "@type": operation["response"]["@type"],
            "purgeCount": 3,
            "samples": shown,
        }
        assert ok(await client.get(path_of(operation["name"]))) == operation
    assert "samples" not in (await _purge(client, **body, sampleSize=0))["response"]
    none = await _purge(client, filter='fact="none"', sampleSize=5)
    assert none["response"]["samples"] == []
    # What can be recovered goes with a permanent purge, so it is counted and shown, too.
    ok(await client.delete(paths["tea"]))
    for permanent, number in ((True, 3), (False, 2)):
        found = (await _purge(client, **body, sampleSize=5, permanent=permanent))["response"]
        assert (found["purgeCount"], len(found["samples"])) == (number, number)


async def test_samples_are_names_until_they_are_read(
    client: httpx.AsyncClient, database: Database
) -> None:
    for name in ("kept", "erased", "replaced"):
        body = {"fact": f"{name}, a secret", "scope": USER}
        ok(await client.post("/memories", params={"memoryId": name}, json=body))
    dry = await _purge(client, filter="fact:secret", sampleSize=3)
    assert len(dry["response"]["samples"]) == 3
    assert "operations" not in await rows_with(database, "secret")
    assert "secret" not in (await client.get("/operations")).text
    ok(await client.patch("/memories/kept", json={"fact": "kept and changed"}))
    for name in ("erased", "replaced"):
        ok(await client.delete(f"/memories/{name}", params={"permanent": True}))
    left = ok(await client.get(path_of(dry["name"])))["response"]
    assert [one["fact"] for one in left["samples"]] == ["kept and changed"]
    assert left["purgeCount"] == 3


async def test_a_sample_that_was_created_anew_is_another_memory(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    body = {"fact": "tea", "scope": USER}
    ok(await client.post("/memories", params={"memoryId": "chosen"}, json=body))
    dry = await _purge(client, filter="fact=tea", sampleSize=1)
    ok(await client.delete("/memories/chosen", params={"permanent": True}))
    clock.advance(timedelta(minutes=1))
    ok(await client.post("/memories", params={"memoryId": "chosen"}, json=body))
    assert ok(await client.get(path_of(dry["name"])))["response"]["samples"] == []


async def test_samples_and_labels_are_refused_where_they_mean_nothing(
    client: httpx.AsyncClient,
) -> None:
    await create_memory(client, "x")
    labels = {"revisionLabels": {"a": "b"}}
    bad: list[tuple[Json, str]] = [
        ({"sampleSize": 1, "force": True}, "sampleSize"),
        ({"sampleSize": -1}, "sampleSize"),
        ({"sampleSize": 101}, "sampleSize"),
        ({"sampleSize": "1"}, "sampleSize"),
        ({**labels, "permanent": True}, "revisionLabels"),
        ({**labels, "permanent": True, "force": True}, "revisionLabels"),
        ({"revisionTtl": "1s", "permanent": True, "force": True}, "revisionTtl"),
        ({"revisionLabels": {"k" * 65: ""}, "force": True}, "revisionLabels"),
        ({"disableMemoryRevisions": True, "force": True}, "disableMemoryRevisions"),
    ]
    for body, field in bad:
        answer = await client.post("/memories:purge", json={"filter": "fact=x", **body})
        assert (body, field_of(answer)) == (body, field)
    assert await listed(client) == ["x"]


async def test_the_revisions_of_a_purge_have_the_labels_and_the_life_that_are_given(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await _stage(client, clock)
    body = {"revisionLabels": {"ticket": "1"}, "revisionTtl": "60s", "filter": "scope.user_id=123"}
    for force in (False, True):
        assert (await _purge(client, **body, force=force))["response"]["purgeCount"] == 2
    found = await history(client, "/memories/-", filter='labels.ticket="1"')
    assert [one["action"] for one in found] == ["DELETED", "DELETED"]
    assert {one["expireTime"] for one in found} == {after(clock, seconds=60)}
