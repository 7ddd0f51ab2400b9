"""The work on a long text ends: retried, cancelled or given up, and callers are told how it is."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

import httpx
import psycopg
import pytest
from fastapi import FastAPI
from sqlalchemy import text
from typing_extensions import override

from app.adapters import concurrency
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.artifacts.tasks import jobs
from app.kernel.clock import FixedClock
from app.kernel.errors import Cancelled
from app.platform.operations.services.runner import Job, Runner
from app.platform.operations.store import repository
from app.settings.settings import Settings
from tests.support.bank import ok
from tests.support.keys import client_with, make_key
from tests.support.operations import path_of
from tests.support.queue import claim
from tests.support.tasks import ARTIFACT, MEMORY, NAMESPACE, upload

PAGE = 256 * 1024
WORDS = b"The kettle on the third shelf is green. " * 500
NO_WORDS = b"<!-- " + b"kettle " * (10 * PAGE // 7)
LATER = timedelta(seconds=60)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"task_index_at_once_bytes": 100})


@dataclass(frozen=True)
class WatchedJob(Job):
    """A job of which each step is counted and may be kept waiting."""

    before: Callable[[int], Awaitable[None]]
    steps: list[None] = field(default_factory=list)

    @override
    async def step(self) -> None:
        self.steps.append(None)
        await self.before(len(self.steps))
        await super().step()


async def watched(resources: Resources, before: Callable[[int], Awaitable[None]]) -> WatchedJob:
    """Claim the operation that is due."""
    lease = timedelta(seconds=60)
    claimed = await claim(resources.db, resources.clock, lease)
    assert claimed is not None
    return WatchedJob(claimed, resources.db, resources.clock, lease, before)


async def test_cancelling_ends_the_reading_of_what_has_no_text(
    client: httpx.AsyncClient, resources: Resources
) -> None:
    ok(await upload(client, NO_WORDS, media_type="text/html"))

    async def third(step: int) -> None:
        if step == 3:
            raise repository.cancelled()

    job = await watched(resources, third)
    with pytest.raises(Cancelled):
        await jobs.index(job, resources)
    assert len(job.steps) == 3


async def test_nothing_is_read_for_work_that_was_broken_off(
    client: httpx.AsyncClient, resources: Resources
) -> None:
    ok(await upload(client, NO_WORDS, media_type="text/html"))
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def third(step: int) -> None:
        if step == 3:
            reached.set()
            await go_on.wait()

    job = await watched(resources, third)
    work = asyncio.create_task(jobs.index(job, resources))
    async with asyncio.timeout(30):
        await reached.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    go_on.set()
    await asyncio.sleep(0.3)
    assert len(job.steps) == 3


async def test_a_page_that_does_not_come_in_time_is_asked_for_again(
    client: httpx.AsyncClient,
    database_url: str,
    runner: Runner,
    clock: FixedClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ok(await upload(client, WORDS, media_type="text/plain"))
    with monkeypatch.context() as patch, psycopg.connect(database_url) as connection:
        patch.setattr(concurrency, "READ_SECONDS", 0.05)
        connection.execute("lock table task_pages in access exclusive mode")
        await runner.run_pending()
    (operation,) = ok(await client.get("/operations"))["operations"]
    assert not operation.get("done")
    assert ok(await client.get(ARTIFACT))["state"] == "indexing"
    clock.advance(LATER)
    await runner.run_pending()
    found = ok(await client.get(ARTIFACT))
    assert (found["state"], found["tokenEstimate"]) == ("ready", len(WORDS) // 4)


async def give_up(client: httpx.AsyncClient, database: Database, runner: Runner) -> None:
    """Let the pages be gone when a worker looks for them, and come back."""
    async with database.transaction() as session:
        await session.execute(text("update task_pages set page = page + 100"))
    await runner.run_pending()
    async with database.transaction() as session:
        await session.execute(text("update task_pages set page = page - 100"))
    (operation,) = ok(await client.get("/operations"))["operations"]
    assert "error" in operation


async def cancel(client: httpx.AsyncClient, _: Database, runner: Runner) -> None:
    (operation,) = ok(await client.get("/operations"))["operations"]
    ok(await client.post(f"{path_of(operation['name'])}:cancel"))
    await runner.run_pending()


Ending = Callable[[httpx.AsyncClient, Database, Runner], Awaitable[None]]
every_ending = pytest.mark.parametrize("end", [give_up, cancel])


async def told(client: httpx.AsyncClient) -> list[bool]:
    """Say of all that tells of it whether it says that readers can read."""
    artifact = ok(await client.get(ARTIFACT))
    (listed,) = ok(await client.get(f"{NAMESPACE}/artifacts"))["artifacts"]
    namespace = ok(await client.get(NAMESPACE))["reference"]
    (one,) = ok(await client.get(f"{MEMORY}/namespaces"))["namespaces"]
    assert artifact["state"] == listed["state"]
    return [
        "query" in found["readableWith"]
        for found in (artifact, listed, namespace, one["reference"])
    ]


@every_ending
async def test_that_a_text_was_given_up_is_told_before_anybody_asks_a_reader(
    client: httpx.AsyncClient, database: Database, runner: Runner, end: Ending
) -> None:
    ok(await upload(client, WORDS, media_type="text/plain"))
    assert await told(client) == [True] * 4
    await end(client, database, runner)
    assert await told(client) == [False] * 4
    assert ok(await client.get(ARTIFACT))["state"] == "ready"


@every_ending
@pytest.mark.parametrize("is_settled", [False, True])
async def test_what_was_given_up_is_cut_when_the_same_bytes_are_sent_again(
    client: httpx.AsyncClient,
    database: Database,
    runner: Runner,
    end: Ending,
    is_settled: bool,  # noqa: FBT001 - given by the parameters of the test
) -> None:
    ok(await upload(client, WORDS, media_type="text/plain"))
    await end(client, database, runner)
    if is_settled:
        assert (await client.post(f"{NAMESPACE}:query", json={"query": "x"})).status_code == 400
    again = ok(await upload(client, WORDS, media_type="text/plain"))
    assert again["state"] == "indexing"
    assert await told(client) == [True] * 4
    await runner.run_pending()
    assert ok(await client.post(f"{NAMESPACE}:query", json={"query": "kettle"}))["citations"]
    # From now on, they change nothing.
    same = ok(await upload(client, WORDS, media_type="text/plain"))
    assert (same["state"], same["etag"]) == ("ready", again["etag"])
    assert ok(await client.get(NAMESPACE))["reference"]["totalBytes"] == str(len(WORDS))


async def test_what_is_being_cut_is_not_begun_anew(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    first = ok(await upload(client, WORDS, media_type="text/plain"))
    assert ok(await upload(client, WORDS, media_type="text/plain"))["etag"] == first["etag"]
    assert await runner.run_pending() == 1


async def test_of_what_is_sensitive_the_same_bytes_take_the_place_by_their_etag(
    client: httpx.AsyncClient, app: FastAPI, database: Database, runner: Runner, clock: FixedClock
) -> None:
    ok(await upload(client, WORDS, f"{ARTIFACT}?sensitive=true", media_type="text/plain"))
    await cancel(client, database, runner)
    async with client_with(app, await make_key(database, clock.now(), "user")) as agent:
        assert (await upload(agent, WORDS, ARTIFACT[1:], "text/plain")).status_code == 409
        etag = ok(await agent.get(ARTIFACT[1:]))["etag"]
        sent = {"If-Match": f'"{etag}"'}
        again = ok(await upload(agent, WORDS, ARTIFACT[1:], "text/plain", headers=sent))
    assert again["state"] == "indexing"
