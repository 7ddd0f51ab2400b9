"""Texts that a worker cuts: they are waited for, and given up with the work on them."""

import asyncio
from dataclasses import replace
from functools import partial

import httpx
import pytest
from sqlalchemy import event, text

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.artifacts.readers.services import reading_session
from app.artifacts.tasks import jobs
from app.artifacts.tasks.store.indexing import INDEX
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason, Unavailable
from app.platform.operations.services.runner import Job, Runner
from app.settings.settings import Settings
from tests.support.bank import ok
from tests.support.errors import refusal
from tests.support.model_server import ModelServer
from tests.support.operations import path_of
from tests.support.readers import FACT, answered, query, summarised, summarize
from tests.support.tasks import ARTIFACT, NAMESPACE, store, text_output, upload

NOT_READY = (409, "ABORTED", Reason.NOT_READY)
UNREADABLE = (400, "INVALID_ARGUMENT", Reason.NO_READABLE_ARTIFACTS)
SAID = FACT + " The road is long." * 50


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"task_index_at_once_bytes": 100, "worker_max_attempts": 1})


async def test_what_is_being_cut_is_not_ready(
    client: httpx.AsyncClient, server: ModelServer, runner: Runner
) -> None:
    ok(await store(client, text_output("Short.")))
    ok(await upload(client, SAID.encode(), media_type="text/plain"))
    for ask in (query, summarize):
        for more in ({}, {"offPrompt": True}, {"model": "builtin"}):
            answer = await ask(client, **more)
            assert refusal(answer) == NOT_READY
            assert answer.headers["retry-after"] == "1"
    assert server.seen == []
    # An artifact that is named does not wait for the others.
    alone = ok(await summarize(client, artifacts=["artifact-1"], model="builtin"))
    assert alone["summary"] == "Short."
    await runner.run_pending()
    server.will(answered("42.", 1), summarised("A kettle."))
    assert ok(await query(client))["answer"] == "42."
    assert ok(await summarize(client))["coverage"]["artifactsTotal"] == 2


async def test_it_is_waited_for(
    client: httpx.AsyncClient, server: ModelServer, runner: Runner
) -> None:
    ok(await upload(client, SAID.encode(), media_type="text/plain"))
    server.will(answered("42.", 1))
    answer = asyncio.create_task(query(client, wait=True))
    await asyncio.sleep(0.05)
    assert not answer.done()
    await runner.run_pending()
    assert ok(await answer)["answer"] == "42."


async def test_who_waits_looks_at_nothing_but_what_is_waited_for(
    client: httpx.AsyncClient,
    server: ModelServer,
    runner: Runner,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading_session, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(reading_session, "LONGEST_POLL_SECONDS", 0.01)
    ok(await store(client, text_output("Short.")))
    ok(await upload(client, SAID.encode(), media_type="text/plain"))
    server.will(answered("42.", 1))
    sent: list[str] = []
    engine = database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", lambda *given: sent.append(given[2]))
    answer = asyncio.create_task(query(client, wait=True))
    async with asyncio.timeout(30):
        while sum("FROM operations" in one for one in sent) < 8:  # noqa: ASYNC110 - of another task
            await asyncio.sleep(0.01)
    # Once, before it was known that something is to be waited for.
    assert sum("FROM task_artifacts" in one for one in sent) == 2
    assert sum("FROM task_namespaces" in one for one in sent) == 1
    await runner.run_pending()
    assert ok(await answer)["answer"] == "42."


async def test_it_is_not_waited_for_for_ever(
    client: httpx.AsyncClient, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_session, "MAX_WAIT_SECONDS", 0.1)
    ok(await upload(client, SAID.encode(), media_type="text/plain"))
    assert refusal(await query(client, wait=True)) == NOT_READY
    assert server.seen == []


async def _break(database: Database) -> None:
    """Let the pages of an artifact be gone when a worker looks for them."""
    async with database.transaction() as session:
        await session.execute(text("delete from task_pages"))


async def test_what_could_not_be_cut_is_no_text(
    client: httpx.AsyncClient, server: ModelServer, runner: Runner, database: Database
) -> None:
    ok(await upload(client, SAID.encode(), media_type="text/plain"))
    await _break(database)
    waiting = asyncio.create_task(query(client, wait=True))
    await asyncio.sleep(0.05)
    await runner.run_pending()
    (operation,) = ok(await client.get("/operations"))["operations"]
    assert "error" in operation
    told = await waiting
    assert refusal(told) == UNREADABLE
    reason = operation["error"]["message"]
    assert told.json()["error"]["message"].endswith(f"The indexing of an artifact failed: {reason}")
    for ask in (query, summarize):
        assert refusal(await ask(client)) == UNREADABLE
    found = ok(await client.get(ARTIFACT))
    assert found["state"] == "ready"
    assert "query" not in found["readableWith"]
    # It keeps nobody from what else is there, or comes in its place.
    ok(await store(client, text_output("Short.")))
    server.always(answered("Nothing.", 1))
    coverage = ok(await query(client))["coverage"]
    assert (coverage["artifactsTotal"], coverage["artifactsUnreadable"]) == (2, 1)
    assert coverage["unreadable"] == [{"artifact": ARTIFACT.rpartition("/")[2], "reason": reason}]
    again = SAID.encode() + b" Again."
    ok(await upload(client, again, media_type="text/plain", headers={"If-Match": "*"}))
    assert refusal(await query(client)) == NOT_READY
    await runner.run_pending()
    coverage = ok(await query(client))["coverage"]
    assert coverage["artifactsUnreadable"] == 0
    assert "unreadable" not in coverage


async def test_nor_is_what_was_cancelled(
    client: httpx.AsyncClient, server: ModelServer, runner: Runner
) -> None:
    ok(await upload(client, SAID.encode(), media_type="text/plain"))
    (operation,) = ok(await client.get("/operations"))["operations"]
    ok(await client.post(f"{path_of(operation['name'])}:cancel"))
    await runner.run_pending()
    assert refusal(await query(client)) == UNREADABLE
    assert ok(await client.get(NAMESPACE))["reference"]["count"] == 1
    assert server.seen == []


async def test_what_others_wait_for_is_left_to_the_worker(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    ok(await upload(client, SAID.encode(), media_type="text/plain"))
    other = f"{NAMESPACE}/artifacts/b"
    ok(await upload(client, SAID.encode(), other, media_type="text/plain"))
    first, *_ = ok(await client.get("/operations"))["operations"]
    ok(await client.post(f"{path_of(first['name'])}:cancel"))
    assert refusal(await query(client)) == NOT_READY
    states = [ok(await client.get(path))["state"] for path in (ARTIFACT, other)]
    assert sorted(states) == ["indexing", "ready"]
    await runner.run_pending()
    coverage = ok(await query(client, model="builtin"))["coverage"]
    assert coverage["artifactsUnreadable"] == 1
    (told,) = coverage["unreadable"]
    assert told["reason"] == "No text was found in it, or its indexing was given up."


async def test_who_waits_for_a_text_that_is_tried_again_is_told_why(
    client: httpx.AsyncClient, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_session, "MAX_WAIT_SECONDS", 0.1)
    ok(await upload(client, SAID.encode(), media_type="text/plain"))

    async def away(_: Job) -> None:
        raise Unavailable("The database is away.", Reason.DATABASE_UNAVAILABLE)

    patient = resources.settings.model_copy(update={"worker_max_attempts": 5})
    await Runner(resources.db, resources.clock, patient, {INDEX: away}).run_pending()
    for more in ({}, {"wait": True}):
        answer = await query(client, **more)
        assert refusal(answer) == NOT_READY
        said = answer.json()["error"]["message"]
        assert said.endswith("The last attempt failed: The database is away.")


async def test_a_text_that_takes_too_long_is_no_text_and_the_reason_is_told(
    client: httpx.AsyncClient, resources: Resources, clock: FixedClock
) -> None:
    ok(await upload(client, SAID.encode(), media_type="text/plain"))
    update = {"task_index_seconds": 1e-9, "worker_max_attempts": 5}
    hasty = replace(resources, settings=resources.settings.model_copy(update=update))
    runner = Runner(
        resources.db, clock, hasty.settings, {INDEX: partial(jobs.index, resources=hasty)}
    )
    assert await runner.run_pending() == 1
    (operation,) = ok(await client.get("/operations"))["operations"]
    assert operation["error"]["details"][0]["reason"] == Reason.TEXT_TAKES_TOO_LONG
    answer = await query(client, wait=True)
    assert refusal(answer) == UNREADABLE
    assert answer.json()["error"]["message"].endswith("The text took more than 1e-09 s.")
