"""When the events of a stream become memories: wire specification, section 9."""

import httpx
import pytest

from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, configure, listed
from tests.support.ingestion import (
    DOG,
    IDLE,
    OSLO,
    SIX_FACTS,
    TEA,
    ended,
    ingest,
    read,
    rule,
    runs_after,
)

DAY_RULE = rule(idle_duration="864000s")


async def test_without_a_rule_it_is_at_once(client: httpx.AsyncClient, runner: Runner) -> None:
    operation = await ingest(client, TEA)
    assert operation["done"] is False
    assert operation["metadata"]["@type"].endswith(".IngestEventsOperationMetadata")
    done = await ended(client, runner, operation)
    assert done["response"]["@type"].endswith(".IngestEventsResponse")
    assert await listed(client) == [TEA]


async def test_the_done_operation_names_its_generation(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    done = await ended(client, runner, await ingest(client, TEA))
    generated = await read(client, {"name": done["response"]["generateMemoriesOperation"]})
    assert generated["done"] is True
    assert generated["metadata"]["@type"].endswith(".GenerateMemoriesOperationMetadata")
    (change,) = generated["response"]["generatedMemories"]
    assert change["action"] == "CREATED"
    (revision,) = (await client.get("/memories/-/revisions")).json()["memoryRevisions"]
    assert revision["operation"] == generated["name"]


async def test_idleness_counts_from_the_last_event(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    await ingest(client, TEA, **IDLE)
    assert await runs_after(runner, clock, minutes=4) == 0
    await ingest(client, OSLO, **IDLE)
    assert await runs_after(runner, clock, minutes=4) == 0
    assert await listed(client) == []
    assert await runs_after(runner, clock, minutes=1) == 1
    assert sorted(await listed(client)) == [TEA, OSLO]


async def test_a_fixed_interval_ticks_from_the_beginning(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    ticks = rule(fixed_interval="600s")
    await ingest(client, TEA, **ticks)
    assert await runs_after(runner, clock, minutes=9) == 0
    await ingest(client, OSLO, **ticks)
    assert await runs_after(runner, clock, minutes=1) == 1
    assert len(await listed(client)) == 2
    # The tick at 20 minutes finds nothing; an event at 27 waits for that at 30.
    assert await runs_after(runner, clock, minutes=17) == 0
    await ingest(client, DOG, **ticks)
    assert await runs_after(runner, clock, minutes=2) == 0
    assert await runs_after(runner, clock, minutes=1) == 1


async def test_so_many_events_are_enough(client: httpx.AsyncClient, runner: Runner) -> None:
    three = rule(event_count=3)
    first = await ingest(client, TEA, OSLO, **three)
    assert await runner.run_pending() == 0
    second = await ingest(client, DOG, **three)
    assert second["name"] == first["name"]
    await ended(client, runner, second)
    assert len(await listed(client)) == 3


async def test_known_events_do_not_count(client: httpx.AsyncClient, runner: Runner) -> None:
    two = rule(event_count=2)
    same = {"content": {"parts": [{"text": TEA}]}, "event_id": "a"}
    for _ in range(3):
        await ingest(client, same, **two)
    assert await runner.run_pending() == 0


async def test_the_bank_has_a_default(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    await configure(client, generationConfig=IDLE)
    await ingest(client, TEA)
    assert await runner.run_pending() == 0
    assert await runs_after(runner, clock, minutes=5) == 1


@pytest.mark.parametrize("config", [{}, {"generation_rule": {}}])
async def test_a_request_without_a_rule_in_its_configuration_does_not_wait(
    client: httpx.AsyncClient, runner: Runner, config: dict[str, object]
) -> None:
    await configure(client, generationConfig=IDLE)
    await ingest(client, TEA, generationTriggerConfig=config)
    assert await runner.run_pending() == 1


async def test_the_request_s_rule_goes_before_the_bank_s(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await configure(client, generationConfig=IDLE)
    await ingest(client, TEA, **rule(event_count=1))
    assert await runner.run_pending() == 1


async def test_a_force_flush_takes_all_that_waits(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await ingest(client, TEA, **IDLE)
    await ingest(client, OSLO, **IDLE, forceFlush=True)
    assert await runner.run_pending() == 1
    assert len(await listed(client)) == 2


async def test_a_flush_needs_no_events(client: httpx.AsyncClient, runner: Runner) -> None:
    first = await ingest(client, TEA, **IDLE)
    flush = await ingest(client, forceFlush=True)
    assert flush["name"] == first["name"]
    await ended(client, runner, flush)
    assert await listed(client) == [TEA]


async def test_a_request_without_events_changes_the_rule(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    await ingest(client, TEA, **DAY_RULE)
    await ingest(client, **IDLE)
    assert await runs_after(runner, clock, minutes=5) == 1


async def test_a_later_rule_does_not_put_off_what_is_ripe(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await ingest(client, TEA, forceFlush=True)
    await ingest(client, OSLO, **DAY_RULE)
    assert await runner.run_pending() == 1
    assert len(await listed(client)) == 2


async def test_nothing_waits_longer_than_a_day(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    await ingest(client, TEA, **DAY_RULE)
    assert await runs_after(runner, clock, hours=23) == 0
    # Not put off by what comes later.
    await ingest(client, OSLO, **DAY_RULE)
    assert await runs_after(runner, clock, minutes=59) == 0
    assert await runs_after(runner, clock, minutes=1) == 1
    assert len(await listed(client)) == 2


STREAMS: tuple[Json, ...] = (
    {},
    {"streamId": ""},
    {"streamId": "default"},
    {"streamId": "other"},
    {"scope": {"user_id": "43"}},
    {"scope": {"user_id": "43"}, "streamId": "other"},
)


async def test_streams_and_scopes_have_buffers_of_their_own(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    three = rule(event_count=3)
    names = {
        (await ingest(client, text, **three, **fields))["name"]
        for text, fields in zip(SIX_FACTS, STREAMS, strict=True)
    }
    assert len(names) == 4
    assert await runner.run_pending() == 1
    assert len(await listed(client)) == 3
