"""Work that a worker has ended is told of once, as done for whoever asked for it."""

from datetime import timedelta

import httpx
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Aborted, NotFound, Reason
from app.platform.operations.services.runner import Job, Runner
from app.settings.settings import Settings
from tests.support.audit import all_events, events, results, stored
from tests.support.bank import ENGINE, id_of, ok
from tests.support.engines import COLLECTION, create_engine
from tests.support.generation import given, start
from tests.support.ingestion import event as ingested
from tests.support.keys import client_with, make_key
from tests.support.operations import USER
from tests.support.queue import cancel, enqueue, runner_of

TEA = "I like tea."


async def test_the_end_of_a_generation_is_told_as_its_caller_s(
    app: FastAPI, client: httpx.AsyncClient, runner: Runner, database: Database, clock: FixedClock
) -> None:
    secret = await make_key(database, clock.now(), "user")
    async with client_with(app, secret) as users:
        path = await start(users, given(TEA))
    await runner.run_pending()
    ended, asked = await events(client)
    assert ended == {
        "name": ended["name"],
        "createTime": "2026-01-15T12:00:00Z",
        "caller": asked["caller"],
        "method": "generation.generate",
        "resource": ENGINE + path,
        "operation": ENGINE + path,
        "result": "OK",
    }
    assert asked["caller"] in secret
    assert (asked["method"], asked["operation"]) == ("generateMemories", ENGINE + path)


async def test_work_that_fails_is_told_of_at_its_end_and_not_at_each_attempt(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    failures = [Aborted("A canary won.", Reason.CONCURRENT_CHANGE), NotFound.of("the canary")]

    async def work(_: Job) -> None:
        raise failures.pop(0)

    worker = runner_of(database, clock, settings, work)
    await enqueue(database, clock)
    assert await worker.run_pending() == 1
    assert await stored(database) == []
    clock.advance(timedelta(minutes=1))
    assert await worker.run_pending() == 1
    assert await results(database) == [("test.work", "NOT_FOUND", "RESOURCE_NOT_FOUND")]
    (found,) = await stored(database)
    assert found.create_time == clock.now()
    assert found.resource == found.operation
    assert (found.operation or "").startswith(f"{ENGINE}/operations/")


async def test_work_whose_effects_are_not_committed_has_not_ended(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    async def work(job: Job) -> None:
        async with job.db.transaction() as session:
            await job.finish(session, {"@type": "done"}, {})
            raise NotFound.of("what it needs")

    await enqueue(database, clock)
    await runner_of(database, clock, settings, work).run_pending()
    assert [result for _, result, _ in await results(database)] == ["NOT_FOUND"]


async def test_work_that_is_cancelled_while_it_runs_is_told_of_when_it_stops(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    async def work(job: Job) -> None:
        await cancel(database, clock, job.claim.owned.operation_id)
        assert await stored(database) == []
        await job.step()

    await enqueue(database, clock)
    await runner_of(database, clock, settings, work).run_pending()
    assert await results(database) == [("test.work", "CANCELLED", "OPERATION_CANCELLED")]


async def test_work_that_is_cancelled_before_it_runs_is_told_of_once(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    path = await start(client, given(TEA))
    ok(await client.post(f"{path}:cancel"))
    ok(await client.post(f"{path}:cancel"))
    assert await runner.run_pending() == 0
    assert await results(database) == [
        ("generateMemories", "OK", None),
        ("generation.generate", "CANCELLED", "OPERATION_CANCELLED"),
        ("cancelOperation", "OK", None),
        ("cancelOperation", "OK", None),
    ]


async def test_what_waits_in_an_engine_that_goes_ends_with_it(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    engine = await create_engine(client)
    url = f"{COLLECTION}/{id_of(engine)}"
    for user in ("1", "2"):
        body = {
            "scope": {"user_id": user},
            "directContentsSource": {"events": [ingested(TEA)]},
        }
        ok(await client.post(f"{url}/memories:ingestEvents", json=body))
    ok(await client.delete(url, params={"force": True}))
    await runner.run_pending()
    found = await results(database)
    assert found[3:] == [
        ("ingestion.ingest", "NOT_FOUND", "RESOURCE_NOT_FOUND"),
        ("ingestion.ingest", "NOT_FOUND", "RESOURCE_NOT_FOUND"),
        ("deleteReasoningEngine", "OK", None),
        ("engines.delete", "OK", None),
    ]
    assert len({row.operation for row in await stored(database)}) == 4


async def test_work_of_the_service_itself_has_no_caller(
    client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    await cancel(database, clock, await enqueue(database, clock))
    (found,) = await all_events(client)
    assert "caller" not in found


async def test_an_operation_that_is_done_at_once_is_told_of_by_its_request_alone(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    ok(await client.post("/memories", json={"fact": TEA, "scope": USER}))
    assert await runner.run_pending() == 0
    assert len(await stored(database)) == 1


async def test_the_generation_that_an_ingestion_fires_is_told_of_for_who_ingested(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    body = {"scope": USER, "directContentsSource": {"events": [ingested(TEA)]}, "forceFlush": True}
    ok(await client.post("/memories:ingestEvents", json=body))
    await runner.run_pending()
    asked, *done = await stored(database)
    assert [row.method for row in done] == ["generation.generate", "ingestion.ingest"]
    assert {row.caller for row in done} == {asked.caller}
    assert asked.caller is not None
