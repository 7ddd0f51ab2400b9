"""The operation of a stream: one until it has ended, and nothing is lost however it ends."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest
from prometheus_client import REGISTRY

from app.adapters.db.session import Database
from app.adapters.llm.models import TextModels
from app.adapters.llm.ports import Usage
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Aborted, InvalidArgument, Reason, Unavailable
from app.memory.ingestion.service import refresh_metrics
from app.memory.ingestion.store.tables import StreamEventRow
from app.platform.operations.services.runner import Runner
from app.platform.operations.store.tables import OperationRow
from app.platform.upkeep.jobs import sweep_once
from app.process.worker import make_runner
from app.settings.settings import Settings
from tests.support.bank import Json, count, listed, ok
from tests.support.ingestion import (
    DOG,
    IDLE,
    OSLO,
    TEA,
    MeddlingEmbedder,
    ended,
    event,
    ingest,
    read,
    rule,
    runs_after,
)
from tests.support.operations import path_of
from tests.support.queue import overwrite, stored
from tests.support.scripted_models import ScriptedTextModel
from tests.support.sweeping import sweep
from tests.support.undo import undo
from tests.support.usage import record

BROKEN = InvalidArgument("The model is not there.", Reason.FIELD_INVALID)
CLASH = Aborted("Another won.", Reason.CONCURRENT_CHANGE)
AWAY = Unavailable("The model is away.", Reason.MODEL_UNAVAILABLE)


@pytest.fixture
async def embedder() -> AsyncIterator[MeddlingEmbedder]:
    meddling = MeddlingEmbedder()
    yield meddling
    await meddling.close()


async def _cancel(client: httpx.AsyncClient, operation: Json) -> None:
    ok(await client.post(f"{path_of(operation['name'])}:cancel"))


async def test_a_stream_has_one_operation_until_it_fires(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    names = {(await ingest(client, text, **IDLE))["name"] for text in (TEA, OSLO, DOG)}
    assert await count(database, OperationRow) == (1,)
    flush = await ingest(client, forceFlush=True)
    assert {flush["name"]} == names
    await ended(client, runner, flush)
    assert (await ingest(client, "I like plays.", **IDLE))["name"] not in names


async def test_requests_at_once_get_one_operation_and_lose_nothing(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    answers = await asyncio.gather(
        *(ingest(client, event(f"I own {n} boats.", f"e{n % 5}"), **IDLE) for n in range(10))
    )
    assert len({answer["name"] for answer in answers}) == 1
    assert await count(database, StreamEventRow) == (5,)
    done = await ended(client, runner, await ingest(client, forceFlush=True))
    assert done["metadata"]["eventCount"] == 5


async def test_what_arrives_while_it_runs_gets_the_same_and_then_one_of_its_own(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock, embedder: MeddlingEmbedder
) -> None:
    seen: list[Json] = []

    async def send_more() -> None:
        seen.append(await ingest(client, OSLO, **IDLE))

    first = await ingest(client, TEA)
    embedder.meddle = send_more
    assert await runner.run_pending() == 1
    assert seen[0]["name"] == first["name"]
    assert await listed(client) == [TEA]
    second = await ingest(client, DOG, **IDLE)
    assert second["name"] != first["name"]
    assert second["metadata"]["pendingEventCount"] == 2
    assert await runs_after(runner, clock, minutes=5) == 1
    assert len(await listed(client)) == 3


async def test_a_flush_while_it_runs_is_heeded_right_afterwards(
    client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder
) -> None:
    first = await ingest(client, TEA, forceFlush=True, **IDLE)
    seen: list[Json] = []

    async def flush() -> None:
        seen.append(await ingest(client, OSLO, forceFlush=True, **IDLE))

    async def look() -> None:
        if await listed(client):
            seen.append(await read(client, first))
        else:
            embedder.meddle = look

    async def flush_and_look_again() -> None:
        await flush()
        embedder.meddle = look

    embedder.meddle = flush_and_look_again
    assert await runner.run_pending() == 2
    assert [one["name"] for one in seen] == [first["name"]] * 2
    # It is not done before what came last is a memory, too.
    assert seen[1]["done"] is False
    done = await ended(client, runner, first)
    assert (done["metadata"]["eventCount"], done["metadata"]["pendingEventCount"]) == (2, 0)
    assert len(await listed(client)) == 2


async def test_the_generations_of_one_operation_are_taken_back_together(
    client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder
) -> None:
    first = await ingest(client, TEA)
    embedder.meddle = lambda: ingest(client, OSLO)
    done = await ended(client, runner, first)
    assert len(await listed(client)) == 2
    generated = await read(client, {"name": done["response"]["generateMemoriesOperation"]})
    changed = generated["response"]["generatedMemories"]
    assert [one["action"] for one in changed] == ["CREATED", "CREATED"]
    await undo(client, runner, first["name"])
    assert await listed(client) == []


async def test_what_is_not_ripe_is_told_and_gets_an_operation_of_its_own(
    client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder
) -> None:
    first = await ingest(client, TEA)
    embedder.meddle = lambda: ingest(client, OSLO, **IDLE)
    done = await ended(client, runner, first)
    assert (done["metadata"]["eventCount"], done["metadata"]["pendingEventCount"]) == (1, 1)


async def test_an_operation_that_was_taken_over_does_not_go_on(
    client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder, database: Database
) -> None:
    first = await ingest(client, TEA)

    async def take_over() -> None:
        await ingest(client, OSLO)
        await overwrite(database, first["name"].rpartition("/")[2], owner="other")

    embedder.meddle = take_over
    await runner.run_pending()
    assert await listed(client) == []


async def test_more_events_than_one_generation_reads_take_several(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    talk = [event("Hm.", f"e{n}") for n in range(1_200)]
    first = await ingest(client, *talk, **IDLE)
    await ingest(client, *(event("Hm.", f"f{n}") for n in range(1_200)), forceFlush=True)
    assert await runner.run_pending() == 2
    metadata = (await read(client, first))["metadata"]
    assert (metadata["eventCount"], metadata["pendingEventCount"]) == (2_400, 0)
    assert (await ingest(client))["done"] is True


@pytest.mark.parametrize(
    "fields", [{}, IDLE, {"forceFlush": True}, {"directContentsSource": {"events": []}}]
)
async def test_nothing_to_do_is_done_at_once(
    client: httpx.AsyncClient, runner: Runner, fields: Json
) -> None:
    for _ in range(2):
        operation = await ingest(client, **fields)
        assert operation["done"] is True
        assert operation["response"].keys() == {"@type"}
        assert await read(client, operation) == operation
    assert await runner.run_pending() == 0


async def test_a_failure_keeps_the_events_and_tries_again(
    client: httpx.AsyncClient,
    runner: Runner,
    clock: FixedClock,
    resources: Resources,
    embedder: MeddlingEmbedder,
) -> None:
    first = await ingest(client, event(TEA, "a"))
    embedder.failure = BROKEN
    await runner.run_pending()
    failed = await read(client, first)
    assert (failed["done"], failed["error"]["code"]) == (True, 3)
    embedder.failure = None
    await sweep_once(resources)
    assert await runs_after(runner, clock, seconds=899) == 0
    assert await runs_after(runner, clock, seconds=1) == 1
    assert await listed(client) == [TEA]


@pytest.mark.parametrize("is_swept", [False, True])
async def test_a_request_after_a_failure_waits_unless_it_is_a_flush(
    client: httpx.AsyncClient,
    runner: Runner,
    resources: Resources,
    embedder: MeddlingEmbedder,
    *,
    is_swept: bool,
) -> None:
    first = await ingest(client, event(TEA, "a"))
    embedder.failure = BROKEN
    await runner.run_pending()
    embedder.failure = None
    if is_swept:
        await sweep_once(resources)
    second = await ingest(client, event(OSLO, "b"))
    assert second["name"] != first["name"]
    assert await runner.run_pending() == 0
    assert (await ingest(client, forceFlush=True))["name"] == second["name"]
    await ended(client, runner, second)
    assert len(await listed(client)) == 2


async def test_what_may_pass_is_retried_in_the_same_operation(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock, embedder: MeddlingEmbedder
) -> None:
    first = await ingest(client, TEA)
    embedder.failure = CLASH
    assert await runner.run_pending() == 1
    assert (await read(client, first))["done"] is False
    # A request does not hurry the retry on.
    second = await ingest(client, OSLO)
    assert second["name"] == first["name"]
    assert await runner.run_pending() == 0
    # A flush does.
    await ingest(client, forceFlush=True)
    assert await runner.run_pending() == 1
    embedder.failure = None
    clock.advance(timedelta(seconds=1))
    await ended(client, runner, first)
    assert len(await listed(client)) == 2


async def test_an_embedding_model_that_is_away_holds_nothing_up(
    client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder
) -> None:
    embedder.failure = AWAY
    await ended(client, runner, await ingest(client, TEA))
    assert await listed(client) == [TEA]


async def test_a_cancelled_operation_keeps_the_events_for_the_next(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    first = await ingest(client, TEA, **IDLE)
    await _cancel(client, first)
    assert (await read(client, first))["error"]["code"] == 1
    second = await ingest(client, OSLO, forceFlush=True)
    assert second["name"] != first["name"]
    await ended(client, runner, second)
    assert len(await listed(client)) == 2


async def test_a_cancelled_operation_does_not_strand_events_beyond_a_day(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock, resources: Resources
) -> None:
    await _cancel(client, await ingest(client, TEA, **IDLE))
    clock.advance(timedelta(hours=1))
    await sweep_once(resources)
    assert await runs_after(runner, clock, hours=22) == 0
    assert await runs_after(runner, clock, hours=1) == 1
    assert await listed(client) == [TEA]


async def test_so_it_is_where_the_cancelled_operation_was_deleted(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock, resources: Resources
) -> None:
    first = await ingest(client, TEA, **IDLE)
    await _cancel(client, first)
    ok(await client.delete(path_of(first["name"])))
    await sweep_once(resources)
    assert await runs_after(runner, clock, hours=23) == 0
    assert await runs_after(runner, clock, hours=1) == 1
    assert await listed(client) == [TEA]


async def test_cancelling_what_runs_writes_nothing_and_keeps_the_events(
    client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder
) -> None:
    first = await ingest(client, TEA)
    embedder.meddle = lambda: _cancel(client, first)
    await runner.run_pending()
    assert (await read(client, first))["error"]["code"] == 1
    assert await listed(client) == []
    await ended(client, runner, await ingest(client, forceFlush=True))
    assert await listed(client) == [TEA]


async def test_the_sweep_leaves_open_operations_alone(
    client: httpx.AsyncClient, resources: Resources, database: Database
) -> None:
    first = await ingest(client, TEA, **IDLE)
    await sweep(resources, "stranded streams")
    assert await count(database, OperationRow) == (1,)
    assert (await ingest(client, OSLO, **IDLE))["name"] == first["name"]


async def test_a_generation_of_the_scope_does_not_run_beside_it(
    client: httpx.AsyncClient, database: Database
) -> None:
    operation = await ingest(client, TEA)
    source = {"directMemoriesSource": {"direct_memories": [{"fact": TEA}]}}
    body = {"scope": {"user_id": "42"}, **source}
    generation = ok(await client.post("/memories:generate", json=body))
    keys = {
        (await stored(database, one["name"].rpartition("/")[2])).key
        for one in (operation, generation)
    }
    assert len(keys) == 1


async def test_a_spent_budget_postpones_and_does_not_refuse(
    client: httpx.AsyncClient,
    clock: FixedClock,
    resources: Resources,
    settings: Settings,
    database: Database,
) -> None:
    reply = {"fact": TEA, "quote": TEA, "line": 0, "topics": ["USER_PREFERENCES"]}
    model = ScriptedTextModel([{"facts": [reply]}])
    limited = settings.model_copy(update={"daily_max_tokens": 1_000})
    runner = make_runner(replace(resources, settings=limited, models=TextModels(model)))
    await record(database, settings, clock.now(), mini=Usage(1, 1_000, 1, 1))
    operation = await ingest(client, TEA)
    assert await runner.run_pending() == 1
    row = await stored(database, operation["name"].rpartition("/")[2])
    assert (row.state, row.attempts, row.due_time.hour) == ("PENDING", 0, 0)
    assert model.asked == []
    # It keeps buffering.
    assert (await ingest(client, OSLO, **IDLE))["name"] == operation["name"]
    assert await runs_after(runner, clock, hours=11) == 0
    # A flush looks whether there are tokens again, and finds none.
    await ingest(client, forceFlush=True)
    assert await runner.run_pending() == 1
    assert model.asked == []
    clock.advance(timedelta(hours=1))
    await ended(client, runner, operation)
    assert await listed(client) == [TEA]


async def test_what_waits_is_a_metric(
    client: httpx.AsyncClient, clock: FixedClock, resources: Resources
) -> None:
    assert await _waiting(resources) == (0, 0, 0)
    await ingest(client, TEA, **rule(event_count=9))
    clock.advance(timedelta(seconds=90))
    await ingest(client, OSLO, **rule(event_count=9), streamId="other")
    assert await _waiting(resources) == (2, 90, 0)


async def _waiting(resources: Resources) -> tuple[float | None, ...]:
    await refresh_metrics(resources)
    names = ("ingestion_pending_events", "ingestion_oldest_pending_seconds", "streams_failed")
    return tuple(REGISTRY.get_sample_value(f"memory_bank_{name}") for name in names)
