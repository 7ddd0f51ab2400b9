"""A summariser that fails, and tokens that run out: nothing is lost, and nothing is done twice."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.operations.logic.states import SUMMARIZE
from app.platform.operations.services.runner import Runner
from app.process.worker import make_runner
from app.settings.settings import ModelPrice, Settings
from tests.support.bank import ok, refusal
from tests.support.generation import given
from tests.support.operations import USER
from tests.support.queue import all_stored, overwrite
from tests.support.scripted import written_by
from tests.support.sessions import create_session
from tests.support.summaries import (
    BY_THREE,
    SlowSummariser,
    Summariser,
    context,
    covers,
    session_with,
    summaries,
    talk,
    verbatim,
)

PRICE = ModelPrice(input=1.0, output=2.0)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    update: dict[str, object] = {"daily_max_tokens": 10_000, "engine_max_queued_operations": 2}
    return settings.model_copy(update=update | {"model_prices": {"scripted:1": PRICE}})


@pytest.fixture
def model() -> Summariser:
    return Summariser()


@pytest.fixture
def resources(resources: Resources, model: Summariser) -> Resources:
    return written_by(resources, model)


async def test_a_summariser_that_is_down_loses_nothing_and_is_tried_again(
    client: httpx.AsyncClient, runner: Runner, model: Summariser, clock: FixedClock
) -> None:
    path = await session_with(client, **BY_THREE)
    model.is_down = True
    await talk(client, path, 1, 2, 3)
    await runner.run_pending()
    found = await context(client, path)
    assert found["summaryState"] == "failed"
    assert await verbatim(client, path) == [1, 2, 3, 4, 5, 6]
    (failed,) = await summaries(client, path, state="failed")
    assert failed["error"] == "MODEL_UNAVAILABLE"
    assert failed["covers"] == {"firstSeq": 1, "lastSeq": 6}
    assert failed["retryTime"]
    assert "text" not in failed
    model.is_down = False
    clock.advance(timedelta(seconds=1))
    await runner.run_pending()
    assert await covers(client, path) == [(1, 6)]
    assert await summaries(client, path, state="failed") == []
    assert (await context(client, path))["summaryState"] == "current"
    assert await verbatim(client, path) == []


async def test_each_failure_waits_longer_than_the_one_before(
    client: httpx.AsyncClient, runner: Runner, model: Summariser, clock: FixedClock
) -> None:
    path = await session_with(client, **BY_THREE)
    model.is_down = True
    await talk(client, path, 1, 2, 3)
    for calls in (1, 2, 3):
        await runner.run_pending()
        assert len(model.asked) == calls
        await runner.run_pending()
        assert len(model.asked) == calls
        clock.advance(timedelta(milliseconds=10 * 2 ** (calls - 1)))
    assert len(await summaries(client, path, state="failed")) == 1


async def test_a_conversation_goes_on_while_the_summariser_is_down(
    client: httpx.AsyncClient, runner: Runner, model: Summariser, clock: FixedClock
) -> None:
    path = await session_with(client, **BY_THREE)
    model.is_down = True
    for number in range(1, 8):
        await talk(client, path, number)
        await runner.run_pending()
    assert len(await verbatim(client, path)) == 14
    model.is_down = False
    clock.advance(timedelta(hours=1))
    await runner.run_pending()
    assert await covers(client, path) == [(1, 6), (7, 12)]


async def test_sessions_that_wait_for_a_summariser_keep_nobody_else_waiting(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    model.is_down = True
    for _ in range(3):
        await talk(client, await session_with(client, **BY_THREE), 1, 2, 3)
    await runner.run_pending()
    for _ in range(2):
        body = {"scope": USER, **given("I like tea.")}
        ok(await client.post("/memories:generate", json=body))
    answer = await client.post("/memories:generate", json={"scope": USER, **given("And cake.")})
    assert refusal(answer) == (429, "RESOURCE_EXHAUSTED")


async def test_what_was_spent_is_told_with_the_calls_that_failed(
    client: httpx.AsyncClient, runner: Runner, model: Summariser, clock: FixedClock
) -> None:
    path = await session_with(client, **BY_THREE)
    model.is_down = True
    await talk(client, path, 1, 2, 3)
    await runner.run_pending()
    model.is_down = False
    clock.advance(timedelta(seconds=1))
    await runner.run_pending()
    found = ok(await client.get(f"{path}/usage"))
    sent = sum(-(-len(one.instructions + one.text) // 4) for one in model.prompts)
    assert sent > 0
    assert found["total"]["callCount"] == 2
    assert found["total"]["inputTokenCount"] == sent
    assert found["total"]["outputTokenCount"] > 0
    assert found["total"]["cost"]["amount"] > 0
    assert [one["model"] for one in found["models"]] == ["scripted:1"]
    assert found["summaries"] == {"active": 1, "superseded": 0, "stale": 0, "failed": 0}
    assert (found["eventCount"], found["exchangeCount"]) == (6, 3)
    engine = ok(await client.get("http://test/v1beta1/reasoningEngines/1:usage"))
    assert engine["total"] == found["total"]


async def test_without_summaries_nothing_was_spent(client: httpx.AsyncClient) -> None:
    path = await session_with(client, strategy="inclusive")
    found = ok(await client.get(f"{path}/usage"))
    assert found["models"] == []
    assert found["total"]["callCount"] == 0
    assert found["summaries"] == {"active": 0, "superseded": 0, "stale": 0, "failed": 0}


async def test_summaries_wait_for_the_next_day_once_the_tokens_are_used_up(
    client: httpx.AsyncClient, runner: Runner, model: Summariser, clock: FixedClock
) -> None:
    path = await session_with(client, **BY_THREE)
    model.length = 60_000
    await talk(client, path, 1, 2, 3)
    await runner.run_pending()
    calls = len(model.asked)
    assert calls == 2
    await talk(client, path, 4, 5, 6)
    await runner.run_pending()
    assert len(model.asked) == calls
    (failed,) = await summaries(client, path, state="failed")
    assert failed["error"] == "TOKEN_BUDGET_EXHAUSTED"
    assert failed["retryTime"] == "2026-01-16T00:00:00Z"
    assert await verbatim(client, path) == [7, 8, 9, 10, 11, 12]
    clock.advance(timedelta(hours=12))
    model.length = None
    await runner.run_pending()
    assert await covers(client, path) == [(1, 6), (7, 12)]


async def test_two_workers_make_one_summary_with_one_call(
    client: httpx.AsyncClient, resources: Resources, model: Summariser
) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, 1, 2, 3)
    await asyncio.gather(*(context(client, path) for _ in range(4)))
    workers = [make_runner(resources) for _ in range(2)]
    counts = await asyncio.gather(*(worker.run_pending() for worker in workers))
    assert sum(counts) == 1
    assert len(model.asked) == 1
    assert await covers(client, path) == [(1, 6)]


async def test_a_worker_that_has_lost_its_lease_writes_nothing_but_its_costs(
    client: httpx.AsyncClient, resources: Resources, database: Database, clock: FixedClock
) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, 1, 2, 3)
    slow, quick = SlowSummariser(), Summariser()
    late = make_runner(written_by(resources, slow))
    work = asyncio.create_task(late.run_pending())
    await slow.is_asked.wait()
    (operation,) = [one for one in await all_stored(database) if one.kind == SUMMARIZE]
    await overwrite(database, operation.operation_id, lease_until=clock.now())
    await make_runner(written_by(resources, quick)).run_pending()
    slow.may_answer.set()
    await work
    (found,) = await summaries(client, path, state=None)
    assert found["state"] == "active"
    assert (len(slow.asked), len(quick.asked)) == (1, 1)
    engine = ok(await client.get("http://test/v1beta1/reasoningEngines/1:usage"))
    assert engine["total"]["callCount"] == 2


async def test_a_worker_that_is_stopped_leaves_the_work_and_tells_the_costs(
    client: httpx.AsyncClient, resources: Resources, runner: Runner
) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, 1, 2, 3)
    slow = SlowSummariser()
    hasty = resources.settings.model_copy(update={"shutdown_grace_seconds": 0})
    stopped = replace(written_by(resources, slow), settings=hasty)
    work = asyncio.create_task(make_runner(stopped).run())
    await slow.is_asked.wait()
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    assert await summaries(client, path, state=None) == []
    await runner.run_pending()
    assert await covers(client, path) == [(1, 6)]
    engine = ok(await client.get("http://test/v1beta1/reasoningEngines/1:usage"))
    assert engine["total"]["callCount"] == 2


async def test_an_error_that_nobody_has_foreseen_is_not_paid_for_again_at_once(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path = await session_with(client, **BY_THREE)
    model.is_down = True
    model.failure = ValueError("a bug")
    await talk(client, path, 1, 2, 3)
    for _ in range(3):
        await runner.run_pending()
        assert await verbatim(client, path) == [1, 2, 3, 4, 5, 6]
    assert len(model.asked) == 1
    (failed,) = await summaries(client, path, state="failed")
    assert failed["error"] == "INTERNAL"
    assert ok(await client.get(f"{path}/usage"))["total"]["callCount"] == 1


async def test_no_text_is_in_the_operation(client: httpx.AsyncClient, runner: Runner) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, 1, 2, 3)
    await runner.run_pending()
    listed = ok(await client.get("/operations"))["operations"]
    (operation,) = [one for one in listed if "Summarize" in one["metadata"]["@type"]]
    assert operation["done"]
    assert operation["metadata"]["summaryCount"] == 1
    assert operation["metadata"]["modelCallCount"] == 1
    assert "question" not in str(operation)
    assert "summary 1" not in str(operation)


async def test_a_cancelled_operation_is_asked_for_again(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, 1, 2, 3)
    name = ok(await client.get("/operations"))["operations"][0]["name"]
    ok(await client.post(f"http://test/v1beta1/{name}:cancel"))
    await runner.run_pending()
    assert model.asked == []
    await context(client, path)
    await runner.run_pending()
    assert await covers(client, path) == [(1, 6)]


async def test_a_session_that_is_deleted_meanwhile_ends_the_work(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, 1, 2, 3)
    ok(await client.delete(path))
    await runner.run_pending()
    assert model.asked == []
    listed = ok(await client.get("/operations"))["operations"]
    assert all(one["done"] and "error" not in one for one in listed)


async def test_a_session_that_is_another_users_by_then_is_not_read(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    await create_session(client, "s", memoryPolicy=BY_THREE)
    await talk(client, "/sessions/s", 1, 2, 3)
    ok(await client.delete("/sessions/s"))
    await create_session(client, "s", userId="43")
    await talk(client, "/sessions/s", 4, 5, 6)
    await runner.run_pending()
    assert model.asked == []
    assert await summaries(client, "/sessions/s", state=None) == []
