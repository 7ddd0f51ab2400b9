"""What is erased, on request or by a sweep, and what is not; who may let it be kept for longer."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import text

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from tests.support.bank import GONE, Json, ok, refusal
from tests.support.keys import client_with, make_key
from tests.support.statements import statements_on
from tests.support.tasks import (
    AGENT,
    ARTIFACT,
    MEMORY,
    NAMESPACE,
    NOTHING,
    Sweep,
    process,
    store,
    stored,
    text_output,
    upload,
)

_ONCE = {"Idempotency-Key": "d1"}
_REUSED = (409, "ALREADY_EXISTS", "REQUEST_ID_REUSED")


def _told(answer: httpx.Response) -> tuple[int, str, str]:
    return (*refusal(answer), answer.json()["error"]["details"][0]["reason"])


async def test_a_memory_that_was_erased_is_not_erased_again_by_a_repetition(
    client: httpx.AsyncClient,
) -> None:
    ok(await store(client, text_output("one")))
    assert ok(await client.delete(MEMORY, headers=_ONCE)) == {}
    ok(await store(client, text_output("two", name="a")))
    again = await client.delete(MEMORY, headers=_ONCE)
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
    assert (await client.get(f"{ARTIFACT}/content")).text == "two"


async def test_a_memory_stays_whose_removal_has_the_id_of_another_request(
    client: httpx.AsyncClient,
) -> None:
    stored_by = await client.post(
        f"{NAMESPACE}:store", json={"artifacts": [text_output("one", name="a")]}, headers=_ONCE
    )
    ok(stored_by)
    assert _told(await client.delete(MEMORY, headers=_ONCE)) == _REUSED
    assert (await client.get(f"{ARTIFACT}/content")).text == "one"


async def test_a_memory_in_which_nothing_is_can_be_erased_once_something_is(
    client: httpx.AsyncClient, database: Database
) -> None:
    assert refusal(await client.delete(MEMORY, headers=_ONCE)) == GONE
    ok(await store(client, text_output("one")))
    ok(await client.delete(MEMORY, headers=_ONCE))
    assert await stored(database) == NOTHING


async def test_no_artifact_of_a_sensitive_namespace_is_kept_for_longer_by_an_agent(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
) -> None:
    policy = {"offPrompt": True, "sensitive": True, "ttl": "60s"}
    ok(await client.put(f"{MEMORY}/toolPolicies/web", json=policy))
    ok(await process(client, text_output("secret", name="a"), namespace="n"))
    secret = await make_key(database, clock.now(), permissions=AGENT)
    async with client_with(app, secret) as agent:
        # What it stores itself lives as long as it says.
        ok(await store(agent, text_output("filler"), ttl="864000s"))
        longer = await agent.patch(NAMESPACE, json={"ttl": "863000s"})
        assert refusal(longer) == (403, "PERMISSION_DENIED")
        ok(await agent.patch(NAMESPACE, json={"ttl": "50s"}))
    clock.advance(timedelta(seconds=51))
    assert refusal(await client.get(ARTIFACT)) == GONE
    ok(await store(client, text_output("tea", name="a"), ttl="60s", sensitive=True))
    ok(await client.patch(NAMESPACE, json={"ttl": "863000s"}))


async def test_a_namespace_of_which_all_is_gone_leaves_its_name_to_others(
    client: httpx.AsyncClient, database: Database, clock: FixedClock, sweep: Sweep
) -> None:
    longest = text_output("a", name="a")
    ok(await store(client, longest, ttl="864000s", userId="A", sensitive=True))
    ok(await store(client, text_output("b"), ttl="3600s"))
    ok(await client.delete(ARTIFACT))
    # It is there as long as what is left.
    assert ok(await client.get(NAMESPACE))["expireTime"] == "2026-01-15T13:00:00Z"
    clock.advance(timedelta(hours=2))
    await sweep()
    assert await stored(database) == NOTHING
    ok(await store(client, text_output("c"), userId="B"))
    assert ok(await client.get(NAMESPACE))["sensitive"] is False


async def test_a_namespace_that_is_older_goes_with_the_last_that_is_swept(
    client: httpx.AsyncClient, database: Database, clock: FixedClock, sweep: Sweep
) -> None:
    ok(await store(client, text_output("a"), ttl="3600s"))
    async with database.transaction() as session:
        await session.execute(
            text("update task_namespaces set expire_time = :later"),
            {"later": clock.now() + timedelta(days=10)},
        )
    clock.advance(timedelta(hours=2))
    await sweep()
    assert await stored(database) == NOTHING


async def test_a_namespace_that_has_expired_stays_while_something_is_coming_into_it(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    ok(await store(client, text_output("short", name="s"), ttl="1s"))
    come, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"x"
        come.set()
        await go_on.wait()
        yield b"y"

    uploading = asyncio.create_task(client.put(ARTIFACT, content=slow()))
    await come.wait()
    clock.advance(timedelta(seconds=2))
    ok(await store(client, text_output("other", name="o")))
    go_on.set()
    ok(await uploading)
    found = ok(await client.get(NAMESPACE))["reference"]
    assert [one["name"] for one in found["artifacts"]] == ["o", "a"]


async def _derived(client: httpx.AsyncClient, database: Database, *names: str) -> None:
    """Store what is said to be made of artifacts of the namespace `n`."""
    outputs = [text_output("made", name=name) for name in names]
    ok(await store(client, *outputs, path=f"{MEMORY}/namespaces/d"))
    async with database.transaction() as session:
        await session.execute(
            text(
                "update task_artifacts set depth = 1,"
                ' derived_from = (\'[{"namespace": "n", "name": "\' || name || \'"}]\')::jsonb'
                " where namespace = 'd'"
            )
        )


async def _orphans(client: httpx.AsyncClient) -> list[str]:
    listed: list[Json] = ok(await client.get(f"{MEMORY}/namespaces/d/artifacts"))["artifacts"]
    return [one["name"].rpartition("/")[2] for one in listed if one.get("sourceDeleted")]


async def test_what_was_made_of_a_namespace_that_gave_way_says_that_its_source_is_gone(
    client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    ok(await store(client, text_output("tea", name="a"), ttl="1s"))
    await _derived(client, database, "a")
    clock.advance(timedelta(seconds=2))
    ok(await store(client, text_output("another", name="a")))
    assert await _orphans(client) == ["a"]


async def test_a_sweep_looks_once_for_what_was_made_of_all_that_it_takes(
    client: httpx.AsyncClient, database: Database, clock: FixedClock, sweep: Sweep
) -> None:
    ok(await store(client, *(text_output("x", name=name) for name in "abc"), ttl="1s"))
    ok(await store(client, text_output("x", name="d")))
    await _derived(client, database, "a", "c", "d")
    clock.advance(timedelta(seconds=62))
    with statements_on(database, "source_deleted=") as sent:
        await sweep()
    # And once for what was made of that.
    assert len(sent) == 2
    assert await _orphans(client) == ["a", "c"]


@pytest.mark.parametrize("path", [NAMESPACE, ARTIFACT])
async def test_other_removals_are_repeated_without_harm_as_well(
    client: httpx.AsyncClient, path: str
) -> None:
    ok(await upload(client, b"one"))
    ok(await client.delete(path, headers=_ONCE))
    ok(await upload(client, b"two"))
    assert (await client.delete(path, headers=_ONCE)).headers["Idempotent-Replayed"] == "true"
    assert (await client.get(f"{ARTIFACT}/content")).content == b"two"
