"""Streams as an administrator sees them: what waits and why, and the flush of one."""

from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import InvalidArgument, Reason
from app.platform.operations.services.runner import Runner
from tests.support.bank import ENGINE_URL, GONE, Json, listed, ok, refusal
from tests.support.bound import bound_client
from tests.support.cases import in_one_test
from tests.support.engines import NOW
from tests.support.errors import violations
from tests.support.ingestion import (
    DOG,
    IDLE,
    OSLO,
    TEA,
    MeddlingEmbedder,
    ended,
    ingest,
    read,
    rule,
)
from tests.support.operations import USER, path_of
from tests.support.sweeping import sweep

BROKEN = InvalidArgument("The model is not there.", Reason.FIELD_INVALID)
THEIRS = {"user_id": "7"}


@pytest.fixture
async def embedder() -> AsyncIterator[MeddlingEmbedder]:
    meddling = MeddlingEmbedder()
    yield meddling
    await meddling.close()


async def _streams(client: httpx.AsyncClient, **params: str | int) -> list[Json]:
    found: list[Json] = ok(await client.get("/streams", params=params))["streams"]
    return found


async def _only(client: httpx.AsyncClient) -> Json:
    (found,) = await _streams(client)
    return found


async def _flush(client: httpx.AsyncClient, stream: str | None = None) -> Json:
    body: Json = {"scope": USER} if stream is None else {"scope": USER, "streamId": stream}
    return ok(await client.post("/streams:flush", json=body))


async def test_a_stream_tells_what_waits_and_until_when(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    assert ok(await client.get("/streams")) == {"streams": []}
    operation = await ingest(client, TEA, **IDLE, streamId="chat-7")
    clock.advance(timedelta(minutes=1))
    await ingest(client, OSLO, **IDLE, streamId="chat-7")
    answer = await client.get("/streams")
    size = ok(answer)["streams"][0]["pendingBytes"]
    waiting = {
        "scope": USER,
        "streamId": "chat-7",
        "createTime": NOW,
        "lastArrivalTime": "2026-01-15T12:01:00Z",
        "oldestPendingTime": NOW,
        "pendingCount": 2,
        "pendingBytes": size,
        "asideCount": 0,
        "generationRule": {"idleDuration": "300s"},
        "nextGenerateTime": "2026-01-15T12:06:00Z",
        "operation": operation["name"],
        "failureCount": 0,
    }
    assert ok(answer) == {"streams": [waiting]}
    assert size > len(TEA) + len(OSLO)
    assert "green tea" not in answer.text
    clock.advance(timedelta(minutes=5))
    await ended(client, runner, operation)
    left = ("oldestPendingTime", "nextGenerateTime", "operation")
    empty = {key: value for key, value in waiting.items() if key not in left}
    assert await _streams(client) == [{**empty, "pendingCount": 0, "pendingBytes": 0}]


async def test_a_stream_that_rests_tells_why_and_until_when(
    client: httpx.AsyncClient,
    runner: Runner,
    clock: FixedClock,
    resources: Resources,
    embedder: MeddlingEmbedder,
) -> None:
    first = await ingest(client, TEA, OSLO)
    embedder.failure = BROKEN
    await runner.run_pending()
    failed = await read(client, first)
    found = await _only(client)
    assert (found["operation"], found["lastError"]) == (first["name"], failed["error"])
    assert found.keys().isdisjoint({"nextGenerateTime", "retryTime"})
    # A worker then opens the next operation, which takes the work up when the stream has rested.
    assert await sweep(resources, "stranded streams") == 1
    found = await _only(client)
    second = await read(client, {"name": found["operation"]})
    assert second["metadata"]["failedOperation"] == first["name"] != second["name"]
    rested = "2026-01-15T12:15:00Z"
    assert {key: found.get(key) for key in ("failureCount", "retryTime", "nextGenerateTime")} == {
        "failureCount": 1,
        "retryTime": rested,
        "nextGenerateTime": rested,
    }
    assert (found["asideCount"], found["asideUntil"]) == (2, rested)
    assert (found["pendingCount"], found["lastError"]) == (2, failed["error"])
    # The error is told while the failed operation is kept.
    ok(await client.delete(path_of(first["name"])))
    assert "lastError" not in await _only(client)
    embedder.failure = None
    clock.advance(timedelta(minutes=15))
    await runner.run_pending()
    found = await _only(client)
    assert (found["pendingCount"], found["failureCount"], found["asideCount"]) == (0, 0, 0)
    assert found.keys().isdisjoint({"operation", "retryTime", "asideUntil", "lastError"})


async def test_streams_are_listed_latest_arrival_first_in_pages(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    ids = [f"s{number}" for number in range(5)]
    for stream in ids:
        await ingest(client, TEA, **IDLE, streamId=stream)
        if stream != "s3":
            clock.advance(timedelta(minutes=1))
    found: list[str] = []
    params: dict[str, str | int] = {"pageSize": 2}
    while True:
        page = ok(await client.get("/streams", params=params))
        found += [one["streamId"] for one in page["streams"]]
        if "nextPageToken" not in page:
            break
        params["pageToken"] = page["nextPageToken"]
    # Two arrived at one moment.
    assert found == ["s4", "s3", "s2", "s1", "s0"]
    await ingest(client, OSLO, **IDLE, streamId="s0")
    assert (await _streams(client))[0]["streamId"] == "s0"
    refused = await client.get("/streams", params={**params, "filter": "pending_count>0"})
    assert violations(refused).keys() == {"pageToken"}


async def test_streams_are_filtered(
    client: httpx.AsyncClient,
    runner: Runner,
    clock: FixedClock,
    embedder: MeddlingEmbedder,
    resources: Resources,
) -> None:
    await ingest(client, TEA, streamId="empty")
    await runner.run_pending()
    embedder.failure = BROKEN
    await ingest(client, TEA, streamId="failed")
    await runner.run_pending()
    await sweep(resources, "stranded streams")
    clock.advance(timedelta(minutes=1))
    await ingest(client, TEA, OSLO, DOG, **IDLE, streamId="waits", scope=THEIRS)
    for text, expected in (
        ("", {"empty", "failed", "waits"}),
        ('stream_id="waits"', {"waits"}),
        ('streamId=~".*s|none"', {"waits"}),
        ("pending_count>1", {"waits"}),
        ("pending_count>=1", {"failed", "waits"}),
        ("pending_count=0", {"empty"}),
        ("pending_count!=0 AND pendingCount<3", {"failed"}),
        ("failure_count<=0", {"empty", "waits"}),
        ("failure_count>0", {"failed"}),
        ('last_arrival_time>="2026-01-15T12:01:00Z"', {"waits"}),
        ('oldest_pending_time<"2026-01-15T12:01:00Z"', {"failed"}),
        ('scope.user_id="42"', {"empty", "failed"}),
        (r'scope="{\"user_id\": \"7\"}"', {"waits"}),
    ):
        found = {one["streamId"] for one in await _streams(client, filter=text)}
        assert (text, found) == (text, expected)


@in_one_test(
    ("text", "told"),
    [
        ("pending_count>x", "must be a whole number of 0 to"),
        ("pending_count:1", "pending_count takes the operators != < <= = > >="),
        ("failure_count=-1", "must be a whole number of 0 to"),
        ("operation=x", "accepts these fields: scope, "),
        ("pending_bytes>1", "stream_id, pending_count, failure_count, last_arrival_time"),
    ],
)
async def test_what_streams_cannot_be_asked_is_refused_with_what_can(
    client: httpx.AsyncClient, text: str, told: str
) -> None:
    answer = await client.get("/streams", params={"filter": text})
    assert violations(answer).keys() == {"filter"}
    assert told in answer.json()["error"]["message"]


async def test_a_flush_makes_memories_at_once_and_leaves_the_rule(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    waits = rule(idle_duration="300s", overlap_event_count=1)
    first = await ingest(client, TEA, **waits, streamId="chat-7")
    assert await runner.run_pending() == 0
    assert (await _flush(client, "chat-7"))["name"] == first["name"]
    await ended(client, runner, first)
    assert await listed(client) == [TEA]
    done = await _flush(client, "chat-7")
    assert done["done"] is True
    assert done["response"]["@type"].endswith(".IngestEventsResponse")
    kept = {"idleDuration": "300s", "overlapEventCount": 1}
    assert (await _only(client))["generationRule"] == kept


async def test_a_flush_tries_what_was_set_aside(
    client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder
) -> None:
    await ingest(client, TEA)
    embedder.failure = BROKEN
    await runner.run_pending()
    embedder.failure = None
    await ended(client, runner, await _flush(client))
    assert await listed(client) == [TEA]


async def test_a_flush_during_a_generation_is_heeded_right_afterwards(
    client: httpx.AsyncClient, runner: Runner, embedder: MeddlingEmbedder
) -> None:
    first = await ingest(client, TEA)
    flushed: list[Json] = []

    async def send_and_flush() -> None:
        await ingest(client, OSLO, **IDLE)
        flushed.append(await _flush(client))

    embedder.meddle = send_and_flush
    assert await runner.run_pending() == 2
    (found,) = flushed
    assert (found["name"], found["done"]) == (first["name"], False)
    assert len(await listed(client)) == 2


async def test_a_flush_is_done_once_for_a_request_id(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    async def ask(**body: str) -> httpx.Response:
        params = {"requestId": "r"}
        return await client.post("/streams:flush", params=params, json={"scope": USER, **body})

    await ingest(client, TEA, **IDLE)
    first = ok(await ask())
    await runner.run_pending()
    again = await ask()
    assert ok(again)["name"] == first["name"]
    assert again.headers["idempotent-replayed"] == "true"
    assert (await ask(streamId="default")).status_code == 409


async def test_a_stream_that_is_not_there_is_not_flushed_into_being(
    client: httpx.AsyncClient,
) -> None:
    await ingest(client, TEA, **IDLE, streamId="chat-7")
    for body in (
        {"scope": USER},
        {"scope": USER, "streamId": "chat-8"},
        {"scope": THEIRS, "streamId": "chat-7"},
    ):
        answer = await client.post("/streams:flush", json=body)
        assert refusal(answer) == GONE
        assert "has no such stream of this scope" in answer.json()["error"]["message"]
    assert len(await _streams(client)) == 1
    for answer in (
        await client.get(ENGINE_URL + "7/streams"),
        await client.post(ENGINE_URL + "7/streams:flush", json={"scope": USER}),
    ):
        assert refusal(answer) == GONE


@in_one_test(
    ("body", "field"),
    [
        ({"streamId": "x"}, "scope"),
        ({"scope": {}}, "scope"),
        ({"scope": USER, "streamId": "a\n"}, "streamId"),
        ({"scope": USER, "streamId": "x" * 257}, "streamId"),
        ({"scope": USER, "forceFlush": True}, "forceFlush"),
        ({"scope": USER, "directContentsSource": {"events": []}}, "directContentsSource"),
    ],
)
async def test_what_is_no_stream_is_refused_by_name(
    client: httpx.AsyncClient, body: Json, field: str
) -> None:
    answer = await client.post("/streams:flush", json=body)
    assert violations(answer).keys() == {field}


async def test_a_bound_key_sees_and_flushes_its_own_streams_alone(
    app: FastAPI,
    client: httpx.AsyncClient,
    runner: Runner,
    database: Database,
    clock: FixedClock,
    embedder: MeddlingEmbedder,
) -> None:
    embedder.failure = BROKEN
    for scope in (USER, THEIRS):
        await ingest(client, TEA, scope=scope, streamId="chat")
    await runner.run_pending()
    both = await _streams(client)
    assert [one["asideCount"] for one in both] == [1, 1]
    async with await bound_client(app, database, clock, {"user_id": ["42"]}) as bound:
        assert await _streams(bound) == [one for one in both if one["scope"] == USER]
        assert await _streams(bound, filter='scope.user_id="7"') == []
        theirs = {"scope": THEIRS, "streamId": "chat"}
        assert refusal(await bound.post("/streams:flush", json=theirs)) == GONE
        mine = {"scope": USER, "streamId": "chat"}
        assert not ok(await bound.post("/streams:flush", json=mine))["done"]
