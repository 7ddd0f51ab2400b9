"""Which events are taken, in which order, and what is kept of them."""

import json
from datetime import timedelta
from typing import Any

import httpx

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.memory.ingestion.store.tables import StreamEventRow, StreamRow
from app.platform.operations.services.runner import Runner
from app.platform.upkeep.service import UpkeepService
from tests.support.bank import (
    ENGINE_URL,
    Json,
    count,
    field_of,
    history,
    listed,
    ok,
    refusal,
)
from tests.support.cases import in_one_test
from tests.support.ingestion import (
    DOG,
    IDLE,
    OSLO,
    SIX_FACTS,
    TEA,
    ended,
    event,
    events_of,
    ingest,
    read,
    rule,
    runs_after,
)
from tests.support.operations import USER, create_memory
from tests.support.queue import all_stored

PATH = "/memories:ingestEvents"


def _asked(operation: Json) -> int:
    found: int = operation["metadata"]["eventCount"]
    return found


async def test_an_event_is_taken_once(client: httpx.AsyncClient, runner: Runner) -> None:
    first = await ingest(client, event(TEA, "a"), event(OSLO, "a"), **IDLE)
    assert first["metadata"]["pendingEventCount"] == 1
    assert first["metadata"]["duplicateEventCount"] == 1
    await ingest(client, event(DOG, "a"), event(OSLO, "b"), forceFlush=True)
    assert sorted(await listed(client)) == []
    await runner.run_pending()
    assert sorted(await listed(client)) == [TEA, OSLO]


async def test_a_processed_event_is_still_known(client: httpx.AsyncClient, runner: Runner) -> None:
    first = await ended(client, runner, await ingest(client, event(TEA, "a")))
    again = await ingest(client, event(TEA, "a"))
    assert again["name"] != first["name"]
    assert again["done"] is True
    assert "generateMemoriesOperation" not in again["response"]
    assert await read(client, again) == again
    assert len(await history(client, "/memories/-")) == 1


async def test_ids_are_known_by_stream(client: httpx.AsyncClient, runner: Runner) -> None:
    for stream in ("one", "two"):
        operation = await ingest(client, event(TEA, "a"), streamId=stream)
        assert _asked(await ended(client, runner, operation)) == 1


async def test_an_empty_id_is_none(client: httpx.AsyncClient, runner: Runner) -> None:
    operation = await ingest(client, event(TEA, ""), event(OSLO, ""))
    assert _asked(await ended(client, runner, operation)) == 2


async def test_ingesting_a_conversation_again_adds_no_memory(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    for _ in range(2):
        await ended(client, runner, await ingest(client, *SIX_FACTS))
    assert len(await listed(client)) == len(set(await listed(client)))
    assert len(await listed(client)) == 6


async def test_events_are_read_in_the_order_of_their_times(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    later = event("I live in Berlin.", time="2026-01-14T10:00:00Z")
    earlier = event("I live in Paris.", time="2026-01-13T10:00:00+00:00")
    await ingest(client, later, **IDLE)
    await ingest(client, earlier, forceFlush=True)
    await runner.run_pending()
    assert await listed(client) == ["I live in Berlin."]


async def test_without_times_the_arrival_counts(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    await ingest(client, "I live in Paris.", "I live in Rome.", **IDLE)
    clock.advance(timedelta(minutes=1))
    await ingest(client, "I live in Berlin.", forceFlush=True)
    await runner.run_pending()
    assert await listed(client) == ["I live in Berlin."]


async def test_relative_dates_are_those_of_the_event(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    said = event("I moved to Oslo yesterday.", time="2025-06-02T10:00:00Z")
    await ended(client, runner, await ingest(client, said))
    (fact,) = await listed(client)
    assert "2025" in fact


async def test_the_text_of_processed_events_is_gone(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    await ended(client, runner, await ingest(client, event(TEA, "a"), OSLO))
    (kept,) = await events_of(database)
    assert (kept.event_id, kept.content) == ("a", None)
    assert kept.process_time is not None
    for operation in await all_stored(database):
        assert TEA not in json.dumps([operation.request, operation.response, operation.details])


async def test_an_overlap_reads_the_last_events_again(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    overlap = rule(event_count=3, overlap_event_count=2)
    first = await ended(client, runner, await ingest(client, *SIX_FACTS[:3], **overlap))
    assert first["metadata"]["overlapEventCount"] == 0
    assert [one.content is not None for one in await events_of(database)] == [True, True]
    # Those that are read again do not count towards the trigger.
    await ingest(client, *SIX_FACTS[3:5], **overlap)
    assert await runner.run_pending() == 0
    second = await ended(client, runner, await ingest(client, SIX_FACTS[5], **overlap))
    assert (second["metadata"]["eventCount"], second["metadata"]["overlapEventCount"]) == (3, 2)
    assert [one.content is not None for one in await events_of(database)] == [True, True]


async def test_what_an_overlap_kept_goes_when_the_rule_does(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    overlap = rule(event_count=2, overlap_event_count=1)
    await ended(client, runner, await ingest(client, event(TEA, "a"), OSLO, **overlap))
    done = await ended(client, runner, await ingest(client, DOG))
    assert done["metadata"]["overlapEventCount"] == 0
    assert [(one.event_id, one.content) for one in await events_of(database)] == [("a", None)]


async def test_the_options_reach_the_memories(client: httpx.AsyncClient, runner: Runner) -> None:
    await ingest(
        client,
        TEA,
        **IDLE,
        revisionLabels={"run": "1"},
        revisionTtl="3600s",
        metadata={"src": {"string_value": "chat"}},
        metadataMergeStrategy="MERGE",
    )
    await ingest(client, revisionExpireTime="2026-01-15T18:00:00Z", revisionLabels={"run": "2"})
    await runner.run_pending()
    (revision,) = await history(client, "/memories/-")
    assert revision["labels"] == {"run": "2"}
    assert revision["expireTime"] == "2026-01-15T18:00:00Z"
    (memory,) = ok(await client.get("/memories"))["memories"]
    assert memory["metadata"] == {"src": {"stringValue": "chat"}}
    # They were those of that buffer, not of the stream for ever.
    await ended(client, runner, await ingest(client, DOG))
    newest = (await history(client, "/memories/-"))[0]
    assert "labels" not in newest


async def test_options_without_events_are_not_kept_for_others(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await ingest(client, revisionLabels={"run": "1"})
    await ended(client, runner, await ingest(client, TEA))
    (revision,) = await history(client, "/memories/-")
    assert "labels" not in revision


async def test_revisions_that_would_have_expired_meanwhile_are_not_kept(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    operation = await ingest(client, TEA, **IDLE, revisionExpireTime="2026-01-15T12:01:00Z")
    assert await runs_after(runner, clock, minutes=5) == 1
    done = await ended(client, runner, operation)
    assert done["metadata"]["revisionsDisabled"] is True
    assert await listed(client) == [TEA]
    assert await history(client, "/memories/-") == []


async def test_the_method_of_a_memory_bank_is_the_same(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    body = {"scope": USER, "directContentsSource": {"events": [event(TEA)]}}
    bank = ENGINE_URL.replace("reasoningEngines", "memoryBanks")
    await ended(client, runner, ok(await client.post(f"{bank}:ingestEvents", json=body)))
    assert await listed(client) == [TEA]


@in_one_test(
    ("fields", "field"),
    [
        ({"scope": None}, "scope"),
        ({"scope": {"user_id": "*"}}, "scope"),
        ({"streamId": "x" * 257}, "streamId"),
        ({"streamId": "a\nb"}, "streamId"),
        ({"stream_id": 7}, "streamId"),
        ({"directContentsSource": {"events": [event(TEA)] * 2_001}}, "events"),
        ({"directContentsSource": {"events": [event(TEA, "x" * 257)]}}, "event"),
        (rule(idle_duration="90s"), "generationRule"),
        (rule(event_count=2, overlap_event_count=2), "generationRule"),
        (rule(overlap_event_count=2), "generationRule"),
        (rule(idle_duration="60s", fixed_interval="60s"), "generationRule"),
        ({"revisionTtl": "60s", "revisionExpireTime": "2030-01-01T00:00:00Z"}, ""),
        ({"revisionExpireTime": "2020-01-01T00:00:00Z"}, "revisionExpireTime"),
        ({"unknown": 1}, "unknown"),
    ],
)
async def test_what_is_refused(
    client: httpx.AsyncClient, database: Database, fields: dict[str, Any], field: str
) -> None:
    body = {"scope": USER, "directContentsSource": {"events": [event(TEA)]}, **fields}
    answer = await client.post(PATH, json={k: v for k, v in body.items() if v is not None})
    assert field.lower() in field_of(answer).lower().replace("_", "")
    assert await count(database, StreamRow, StreamEventRow) == (0, 0)


async def test_an_unknown_engine_has_no_streams(client: httpx.AsyncClient) -> None:
    answer = await client.post(
        ENGINE_URL.replace("reasoningEngines/1", "reasoningEngines/99") + PATH,
        json={"scope": USER},
    )
    assert refusal(answer) == (404, "NOT_FOUND")


async def test_a_repetition_has_one_effect(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    body = {"scope": USER, "directContentsSource": {"events": [event(TEA)]}, **IDLE}
    once = {"Idempotency-Key": "k"}
    first = ok(await client.post(PATH, json=body, headers=once))
    assert ok(await client.post(PATH, json=body, headers=once))["name"] == first["name"]
    assert await count(database, StreamEventRow) == (1,)
    other = await client.post(PATH, json={"scope": USER}, headers=once)
    assert refusal(other) == (409, "ALREADY_EXISTS")
    await ingest(client, forceFlush=True)
    await runner.run_pending()
    again = ok(await client.post(PATH, json=body, headers=once))
    assert (again["name"], again["done"]) == (first["name"], True)
    assert await count(database, StreamEventRow) == (0,)


async def test_ids_are_forgotten_in_the_end(
    client: httpx.AsyncClient,
    runner: Runner,
    clock: FixedClock,
    resources: Resources,
    database: Database,
) -> None:
    await ended(client, runner, await ingest(client, event(TEA, "a")))
    sweep = UpkeepService(resources).sweep
    await runs_after(runner, clock, days=89)
    await sweep()
    assert await count(database, StreamRow, StreamEventRow) == (1, 1)
    await runs_after(runner, clock, days=2)
    await sweep()
    assert await count(database, StreamRow, StreamEventRow) == (0, 0)


async def test_an_engine_s_streams_go_with_it(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    await ingest(client, event(TEA, "a"), OSLO, **IDLE)
    await create_memory(client, DOG)
    ok(await client.delete(ENGINE_URL, params={"force": True}))
    await runner.run_pending()
    assert await count(database, StreamRow, StreamEventRow) == (0, 0)
