"""Deleted memories in lists and by name, while they can be recovered: AIP-164, `showDeleted`."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from app.platform.upkeep.service import UpkeepService
from app.settings.settings import Settings
from tests.support.audit import all_events
from tests.support.bank import (
    GONE,
    after,
    configure,
    field_of,
    history,
    id_of,
    listed,
    ok,
    refusal,
)
from tests.support.errors import refusal as refused
from tests.support.errors import violations
from tests.support.generation import given, run
from tests.support.keys import client_with, make_key
from tests.support.operations import create_memory, path_of
from tests.support.undo import undo

DELETED = {"showDeleted": "true"}
BIN = {**DELETED, "filter": "delete_time:*", "orderBy": "delete_time desc"}
WINDOW = timedelta(seconds=2)


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """The settings, changed as a test's indirect parameter says."""
    return settings.model_copy(update=getattr(request, "param", {}))


async def _path(client: httpx.AsyncClient, fact: str, **fields: Any) -> str:
    return path_of((await create_memory(client, fact, **fields))["name"])


async def _deleted(client: httpx.AsyncClient, clock: FixedClock, *facts: str) -> list[str]:
    """Create memories, delete them a minute apart in reverse, and return their paths."""
    paths = [await _path(client, fact) for fact in facts]
    for path in reversed(paths):
        clock.advance(timedelta(minutes=1))
        ok(await client.delete(path))
    return paths


async def test_a_deleted_memory_is_shown_with_its_end_to_who_asks_for_it(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    memory, live = await create_memory(client, "tea"), await create_memory(client, "milk")
    path = path_of(memory["name"])
    clock.advance(timedelta(minutes=1))
    operation = ok(await client.delete(path))
    (revision, _) = await history(client, path)
    shown = {
        **memory,
        "updateTime": after(clock),
        "etag": "2",
        "deleteTime": after(clock),
        "recoverUntil": after(clock, hours=48),
        "deleteOperation": revision["operation"],
        "deleteCaller": (await all_events(client, "method=deleteMemory"))[0]["caller"],
    }
    assert id_of({"name": revision["operation"]}) == id_of(operation)
    assert ok(await client.get(path, params=DELETED)) == shown
    assert ok(await client.get(path, params={"show_deleted": True})) == shown
    everything = ok(await client.get("/memories", params=DELETED))["memories"]
    assert sorted(everything, key=lambda one: str(one["fact"])) == [live, shown]
    assert ok(await client.get("/memories", params=BIN)) == {"memories": [shown]}
    for params in ({}, {"showDeleted": "false"}):
        assert ok(await client.get("/memories", params=params)) == {"memories": [live]}
        assert refusal(await client.get(path, params=params)) == GONE
    assert ok(await client.get(path_of(live["name"]), params=DELETED)) == live
    assert refusal(await client.get("/memories/never", params=DELETED)) == GONE


async def test_every_way_to_delete_leads_here_but_that_for_good(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    by_name, for_good = await _path(client, "milk"), await _path(client, "wine")
    await create_memory(client, "I like tea.")
    made = await run(client, runner, given("I live in Oslo."))
    forgotten = {"text": "Please forget that I like tea."}
    events = [{"content": {"role": "user", "parts": [forgotten]}}]
    ended = {
        "milk": id_of(ok(await client.delete(by_name))),
        "I live in Oslo.": id_of(await undo(client, runner, made["name"])),
        "I like tea.": id_of(
            await run(client, runner, {"directContentsSource": {"events": events}})
        ),
    }
    ok(await client.delete(for_good, params={"permanent": True}))
    await create_memory(client, "water")
    purged = {"filter": 'fact="water"', "force": True}
    ended["water"] = id_of(ok(await client.post("/memories:purge", json=purged)))
    shown = ok(await client.get("/memories", params=BIN))["memories"]
    assert {one["fact"]: id_of({"name": one["deleteOperation"]}) for one in shown} == ended
    assert await listed(client) == []


_FILTERED = [
    ("delete_time:*", ["c", "b", "a"]),
    ("NOT delete_time:*", ["live"]),
    ("deleteTime:* AND fact=b", ["b"]),
    ('delete_time="2026-01-15T12:01:00Z"', ["c"]),
    ('delete_time:"2026-01-15T12:01:00Z"', ["c"]),
    ('delete_time!="2026-01-15T12:01:00Z"', ["live", "b", "a"]),
    ('delete_time>"2026-01-15T12:01:00Z"', ["b", "a"]),
    ('delete_time<="2026-01-15T12:02:00Z"', ["c", "b"]),
    ('recover_until>="2026-01-17T12:03:00Z"', ["a"]),
    ('recoverUntil<"2026-01-17T12:02:00Z"', ["c"]),
    ('recover_until!="2026-01-17T12:01:00Z"', ["live", "b", "a"]),
]
_ORDERED = {
    "delete_time": ["c", "b", "a", "live"],
    "deleteTime": ["c", "b", "a", "live"],
    "delete_time desc": ["live", "a", "b", "c"],
    "create_time": ["a", "b", "c", "live"],
}


async def test_filters_and_orders_know_the_deletion_where_it_is_shown(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await _deleted(client, clock, "a", "b", "c")
    clock.advance(timedelta(minutes=1))
    await create_memory(client, "live")
    for text, facts in _FILTERED:
        found = await listed(client, **DELETED, filter=text)
        assert (text, sorted(found)) == (text, sorted(facts))
    for order, facts in _ORDERED.items():
        assert (order, await listed(client, **DELETED, orderBy=order)) == (order, facts)


async def test_elsewhere_they_are_refused_with_what_they_need(client: httpx.AsyncClient) -> None:
    needs = "needs showDeleted=true."
    for text in ("delete_time:*", 'recoverUntil>"2026-01-15"', 'fact="a" OR NOT delete_time:*'):
        answer = await client.get("/memories", params={"filter": text})
        assert refused(answer)[2] == "FILTER_INVALID"
        assert violations(answer)["filter"].endswith(needs), text
    answer = await client.get("/memories", params={"orderBy": "delete_time desc"})
    assert violations(answer) == {"orderBy": f"delete_time {needs}"}
    answer = await client.get("/memories", params={**DELETED, "orderBy": "recover_until"})
    assert field_of(answer) == "orderBy"
    for text in ('delete_time=~".*"', "recover_until:*", "delete_time:soon", 'delete_time="*"'):
        answer = await client.get("/memories", params={**DELETED, "filter": text})
        assert refused(answer)[2] == "FILTER_INVALID", text
    # What looks for memories to use or to take knows nothing of all this.
    search = {"scope": {"user_id": "42"}, "filter": "delete_time:*"}
    for method in ("retrieve", "purge"):
        body = search if method == "retrieve" else {"filter": "delete_time:*"}
        answer = await client.post(f"/memories:{method}", json=body)
        assert "accepts these fields: scope" in violations(answer)["filter"]
        assert "delete" not in violations(answer)["filter"]


async def test_a_page_token_belongs_to_a_list_with_or_without_them(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await _deleted(client, clock, "a", "b")
    for fact in ("c", "d"):
        await create_memory(client, fact)
    for own, other in ((DELETED, {}), ({}, DELETED)):
        token = ok(await client.get("/memories", params={**own, "pageSize": 1}))["nextPageToken"]
        answer = await client.get("/memories", params={**other, "pageToken": token})
        assert field_of(answer) == "pageToken"


async def test_what_was_deleted_is_history_and_needs_its_permission(
    app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    path = await _path(client, "tea")
    ok(await client.delete(path))
    may = ["memories.list", "memories.get"]
    some = await make_key(database, clock.now(), permissions=may)
    async with client_with(app, some) as without:
        for place in ("/memories", path, "/memories/never"):
            answer = await without.get(place, params=DELETED)
            assert refused(answer) == (403, "PERMISSION_DENIED", "PERMISSION_MISSING")
            assert "revisions.list" in answer.text
        assert await listed(without, showDeleted="false") == []
    viewer = await make_key(database, clock.now(), "viewer")
    async with client_with(app, viewer) as viewing:
        assert await listed(viewing, **BIN) == ["tea"]


@pytest.mark.parametrize("settings", [{"recovery_window_seconds": 2.0}], indirect=True)
async def test_at_the_end_of_the_window_everything_agrees_that_it_is_gone(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    memory = await create_memory(client, "tea")
    path = path_of(memory["name"])
    ok(await client.delete(path))
    clock.advance(WINDOW - timedelta(microseconds=1))
    assert ok(await client.get(path, params=DELETED))["recoverUntil"] == after(
        clock, microseconds=1
    )
    assert await listed(client, **BIN) == ["tea"]
    assert len(await history(client, path)) == 2
    clock.advance(timedelta(microseconds=1))
    assert refusal(await client.get(path, params=DELETED)) == GONE
    assert ok(await client.get("/memories", params=BIN)) == {"memories": []}
    assert refusal(await client.get(f"{path}/revisions")) == GONE
    assert await history(client, "/memories/-") == []
    assert refusal(await client.post(f"{path}:undelete")) == GONE


async def test_expiry_leads_here_only_where_a_deletion_came_before_it(
    client: httpx.AsyncClient, clock: FixedClock, resources: Resources
) -> None:
    expired, deleted = await _path(client, "a", ttl="60s"), await _path(client, "b", ttl="60s")
    ok(await client.delete(deleted))
    clock.advance(timedelta(seconds=60))
    assert refusal(await client.get(expired, params=DELETED)) == GONE
    assert await listed(client, **DELETED) == await listed(client, **BIN) == ["b"]
    await UpkeepService(resources).sweep()
    ok(await client.post(f"{deleted}:undelete"))
    assert "expireTime" not in ok(await client.get(deleted))


async def test_without_a_revision_nobody_knows_who_deleted_it(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    short, none = await _path(client, "a"), await _path(client, "b")
    ok(await client.request("DELETE", short, json={"revisionTtl": "60s"}))
    await configure(client, disableMemoryRevisions=True)
    ok(await client.delete(none))
    clock.advance(timedelta(seconds=60))
    for path in (short, none):
        found = ok(await client.get(path, params=DELETED))
        assert found.keys() & {"deleteTime", "recoverUntil"} == {"deleteTime", "recoverUntil"}
        assert not found.keys() & {"deleteOperation", "deleteCaller"}
