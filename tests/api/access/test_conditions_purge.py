"""Purges by keys that are bound to scopes: issue 4, section 1."""

from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.bank import GONE, Json, ok, refusal
from tests.support.bound import SCOPES, Bound, facts
from tests.support.cases import in_one_test
from tests.support.ingestion import IDLE, TEA, ingest, read, runs_after
from tests.support.keys import client_with, make_key
from tests.support.operations import path_of
from tests.support.undo import undo, undone

ALL = 'fact:"About"'
FOREIGN = 'scope="{\\"user_id\\": \\"7\\"}"'


async def _purge(client: httpx.AsyncClient, **body: Any) -> Json:
    return ok(await client.post("/memories:purge", json={"filter": ALL, **body}))


@in_one_test("force", [{}, {"force": False}])
async def test_a_count_is_of_what_the_key_sees(
    bound: Bound, bank: httpx.AsyncClient, force: Json
) -> None:
    done = await _purge(bound.client, **force)
    assert done["response"]["purgeCount"] == len(bound.kind.memories)
    foreign = await _purge(bound.client, filter='fact="About theirs."', **force)
    assert foreign["response"]["purgeCount"] == 0
    assert await facts(bank) == [*SCOPES]


@pytest.mark.parametrize("permanent", [False, True])
async def test_a_purge_takes_what_the_key_sees_and_no_more(
    bound: Bound, bank: httpx.AsyncClient, *, permanent: bool
) -> None:
    done = await _purge(bound.client, force=True, permanent=permanent)
    assert done["response"]["purgeCount"] == len(bound.kind.memories)
    if permanent:
        assert done["metadata"]["erased"]["memories"] == len(bound.kind.memories)
    assert await facts(bank) == bound.kind.hidden
    for memory_id in bound.kind.hidden:
        ok(await bank.get(f"/memories/{memory_id}/revisions"))
    again = await _purge(bound.client, force=True, permanent=permanent)
    assert again["response"]["purgeCount"] == 0


@in_one_test("force", [False, True])
async def test_a_caller_that_reaches_no_scope_purges_nothing(
    app: FastAPI, bank: httpx.AsyncClient, database: Database, clock: FixedClock, *, force: bool
) -> None:
    nothing = await make_key(database, clock.now(), "admin", scope_conditions={"user_id": []})
    async with client_with(app, nothing) as caller:
        done = await _purge(caller, force=force)
        assert done["response"]["purgeCount"] == 0
        listed = ok(await caller.get("/operations"))["operations"]
        assert listed[0]["name"] == done["name"]
        assert {one["metadata"]["kind"] for one in listed} == {"memories.purge"}
    assert await facts(bank) == [*SCOPES]


async def test_a_purge_of_a_foreign_scope_finds_nothing(
    bank: httpx.AsyncClient, mine: httpx.AsyncClient
) -> None:
    negated: Json = {"key": "a", "value": {"stringValue": "b"}, "negate": True}
    for permanent in (False, True):
        for body in ({"filter": FOREIGN}, {"filterGroups": [{"filters": [negated]}]}):
            asked = {"filter": FOREIGN, **body, "force": True, "permanent": permanent}
            assert (await _purge(mine, **asked))["response"]["purgeCount"] == 0
    assert await facts(bank) == [*SCOPES]


async def test_a_purge_is_known_to_who_sees_its_scopes(bound: Bound) -> None:
    done = await _purge(bound.client, force=True)
    found = ok(await bound.client.get(path_of(done["name"])))
    assert found["response"]["purgeCount"] == len(bound.kind.memories)


async def test_a_purge_by_who_is_bound_to_nothing_is_hidden(
    bank: httpx.AsyncClient, mine: httpx.AsyncClient
) -> None:
    """Its count is one of all users, whatever its filter."""
    done = await _purge(bank, filter='scope="{\\"user_id\\": \\"42\\"}"')
    assert refusal(await mine.get(path_of(done["name"]))) == GONE


async def test_the_undo_of_a_purge_brings_back_what_it_took(
    bound: Bound, bank: httpx.AsyncClient, runner: Runner
) -> None:
    ok(await bank.delete("/memories/theirs"))
    done = await _purge(bound.client, force=True)
    back = await undo(bound.client, runner, done["name"])
    assert undone(back) == dict.fromkeys(sorted(bound.kind.memories), "RESTORED")
    assert await facts(bound.client) == [*bound.kind.memories]
    assert refusal(await bank.get("/memories/theirs")) == GONE


async def test_a_purge_takes_the_events_of_own_streams_alone(
    bank: httpx.AsyncClient, mine: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    operations = {
        user: await ingest(bank, TEA, scope={"user_id": user}, **IDLE) for user in ("42", "7")
    }
    done = await _purge(mine, filter='scope.user_id!="none"', force=True, permanent=True)
    assert done["metadata"]["erasedEventCount"] == 1
    await runs_after(runner, clock, minutes=10)
    assert "generateMemoriesOperation" in (await read(bank, operations["7"]))["response"]
    assert "generateMemoriesOperation" not in (await read(bank, operations["42"]))["response"]
