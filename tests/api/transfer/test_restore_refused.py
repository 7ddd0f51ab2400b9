"""An archive with what no release stores is refused by line and field, and leaves nothing."""

import gzip
import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.memory.transfer.logic.kinds import BY_NAME
from app.platform.operations.services.runner import Runner
from tests.support.bank import ENGINE_URL, Json, ok
from tests.support.errors import refusal
from tests.support.forgeries import BANKS, NEWEST, YOUNGER, Forgery, forged, lines_of, written
from tests.support.ingestion import ingest
from tests.support.restores import GZIP, archive_of, zipped

RESTORE = f"{ENGINE_URL}:restore"
ARCHIVE = "7e0c7f9e-0000-4000-8000-000000000001"
FAR = "9999-12-31T23:59:59.999999Z"
HUGE = 2**63 - 1
WRONG = {"X": {"b": [1]}}
HEADER, LINES = lines_of(BANKS[0])


def _forged(kind: str, field: str, value: Any) -> bytes:
    return forged(HEADER, LINES, Forgery(BY_NAME[kind], field, value), ARCHIVE)


async def _facts(client: httpx.AsyncClient) -> list[str]:
    listed = ok(await client.get("/memories"))["memories"]
    return [memory["fact"] for memory in listed if "fact" in memory]


async def _left(database: Database) -> dict[str, int]:
    """Return how many rows of an archive the engine has."""
    tables = {kind.table for kind in BY_NAME.values()} - {"engines"}
    counts = " union all ".join(f"select '{name}', count(*) from {name}" for name in tables)
    async with database.snapshot() as session:
        return {name: count for name, count in await session.execute(text(counts)) if count}


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("engine", "labels", WRONG),
        ("engine", "encryptionSpec", {"kmsKeyName": 7}),
        ("engine", "memoryBankConfig", {"ttlConfig": {"defaultTtl": "x"}}),
        ("toolPolicy", "offPrompt", ""),
        ("toolPolicy", "tool", ""),
        ("memory", "memoryType", ""),
        ("memory", "memoryType", "UNKNOWN"),
        ("memory", "scope", {"user_id": {"b": 1}}),
        ("memory", "version", HUGE),
        ("memory", "topics", [WRONG]),
        ("memory", "metadata", WRONG),
        ("memory", "createTime", FAR),
        ("revision", "action", ""),
        ("revision", "labels", WRONG),
        ("revision", "extractedMemories", [WRONG]),
        ("userState", "state", {"app:theme": "of all"}),
        ("session", "labels", WRONG),
        ("session", "memoryPolicy", {}),
        ("session", "exchanges", HUGE),
        ("session", "lastSeq", HUGE),
        ("session", "version", HUGE),
        ("event", "author", ""),
        ("event", "content", WRONG),
        ("event", "actions", WRONG),
        ("event", "eventMetadata", WRONG),
        ("event", "sessionId", "nobodys"),
        ("summary", "state", ""),
        ("summary", "policy", {}),
        ("summary", "usage", WRONG),
        ("stream", "rule", WRONG),
        ("stream", "options", WRONG),
        ("stream", "scope", {}),
        ("stream", "lastArrivalTime", FAR),
        ("stream", "oldestPendingTime", FAR),
        ("stream", "retryTime", FAR),
        ("streamEvent", "content", WRONG),
        ("streamEvent", "arrivalTime", FAR),
        ("namespace", "userId", ""),
        ("namespace", "expireTime", FAR),
        ("artifact", "artifactKind", "list"),
        ("artifact", "name", ""),
        ("artifact", "mediaType", ""),
        ("page", "data", ""),
        ("page", "contentId", "1"),
        ("operation", "operationKind", "generation.preview"),
        ("operation", "response", WRONG),
        ("operation", "error", WRONG),
        ("usage", "cost", 1e308),
        ("usage", "inputTokens", HUGE),
        ("usage", "day", "9999-12-31"),
    ],
)
async def test_a_wrong_value_is_refused_by_line_and_field(
    client: httpx.AsyncClient, database: Database, kind: str, field: str, value: Any
) -> None:
    before = ok(await client.get(ENGINE_URL))
    answer = await client.post(RESTORE, content=_forged(kind, field, value), headers=GZIP)
    assert refusal(answer) == (400, "INVALID_ARGUMENT", "ARCHIVE_INVALID")
    message = answer.json()["error"]["message"]
    assert message.startswith("Line ")
    assert field in message
    assert await _left(database) == {}
    after = ok(await client.get(ENGINE_URL))
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed <= {"etag", "updateTime"}


@pytest.mark.parametrize(
    ("kind", "field", "value"), [("session", "lastSeq", 15), ("artifact", "sizeBytes", 7)]
)
async def test_lines_that_contradict_each_other_are_refused(
    client: httpx.AsyncClient, database: Database, kind: str, field: str, value: int
) -> None:
    answer = await client.post(RESTORE, content=_forged(kind, field, value), headers=GZIP)
    assert refusal(answer)[2] == "ARCHIVE_INVALID"
    assert field in answer.json()["error"]["message"]
    assert await _left(database) == {}


async def test_the_events_of_others_become_memories_all_the_same(
    client: httpx.AsyncClient, resources: Resources, clock: FixedClock, runner: Runner
) -> None:
    """A stream that no rule fits to came first in the sweep of the streams of all engines."""
    other = f"{ENGINE_URL.rpartition('/')[0]}/{await _other_engine(client)}"
    for field, value in (("rule", WRONG), ("lastArrivalTime", FAR)):
        forgery = _forged("stream", field, value)
        assert (await client.post(f"{other}:restore", content=forgery, headers=GZIP)).is_error
    await ingest(client, "My bird is called Kiwi.", scope={"user_id": "7"})
    async with resources.db.transaction() as session:
        await session.execute(text("delete from operations where kind = 'ingestion.ingest'"))
    clock.advance(timedelta(days=2))
    for sweep in resources.registry.sweeps:
        await sweep.run(resources)
    await runner.run_pending()
    assert await _facts(client) == ["My bird is called Kiwi."]


async def _other_engine(client: httpx.AsyncClient) -> str:
    made = ok(await client.post(ENGINE_URL.rpartition("/")[0], json={}))
    return str(made["response"]["name"].rpartition("/")[2])


async def test_after_a_refusal_any_archive_can_be_restored(client: httpx.AsyncClient) -> None:
    refused = await client.post(RESTORE, content=_forged("usage", "calls", HUGE), headers=GZIP)
    assert refused.is_error
    ok(await client.post(RESTORE, content=BANKS[0].read_bytes(), headers=GZIP))


async def test_a_removal_that_broke_off_goes_on_with_the_next_restore(
    client: httpx.AsyncClient, database: Database
) -> None:
    """The process was killed while it took back what a refused archive had written."""
    whole = archive_of(900, engine={"display_name": "Forged"})
    cut = await client.post(RESTORE, content=zipped(whole[: len(whole) // 2]), headers=GZIP)
    assert refusal(cut)[2] == "ARCHIVE_TRUNCATED"
    async with database.transaction() as session:
        await session.execute(
            text("update engines set restore = restore || '{\"nextLine\": 0}' where engine_id = 1")
        )
    answer = await client.get("/memories")
    assert refusal(answer)[2] == "ENGINE_RESTORING"
    ok(await client.post(RESTORE, content=zipped(archive_of(3, archive_id=ARCHIVE)), headers=GZIP))
    listed = ok(await client.get("/memories"))["memories"]
    assert len(listed) == 3
    assert "displayName" not in ok(await client.get(ENGINE_URL))


@pytest.mark.parametrize("bank", BANKS, ids=lambda bank: bank.name)
async def test_an_archive_of_each_format_is_restored(client: httpx.AsyncClient, bank: Path) -> None:
    header, lines = lines_of(bank)
    answer = ok(await client.post(RESTORE, content=written(header, lines), headers=GZIP))
    assert sum(answer["counts"].values()) == len(lines)
    assert answer["converted"] == {}


def _part(content: Any) -> Json:
    part: Json = content["parts"][0]
    return part


async def test_what_a_former_release_accepted_is_converted_and_counted(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    reference = {"text": "see there", "artifactRef": {"id": 7}}
    content = {"role": "user", "parts": [reference]}
    lines: Sequence[Json] = json.loads(json.dumps(LINES))
    for line in lines:
        if line["kind"] in {"event", "streamEvent"}:
            line["content"] = content
        if line.get("fact") == "My fish is called CanaryMoth.":
            line["fact"] = line["revisions"][-1]["fact"] = " "
    sent = written({**HEADER, "archiveId": ARCHIVE}, lines)
    answer = ok(await client.post(RESTORE, content=sent, headers=GZIP))
    assert answer["converted"] == {
        "event.content": 14,
        "memory.fact": 1,
        "revision.fact": 1,
        "streamEvent.content": 2,
    }
    events = ok(await client.get("/sessions/s-app/events"))["sessionEvents"]
    assert _part(events[0]["content"]) == {
        "text": "see there",
        "formerArtifactRef": {"id": 7},
    }
    listed = ok(await client.get("/memories"))["memories"]
    assert "(blank)" in {memory.get("fact") for memory in listed}
    await runner.run_pending()


async def test_a_restored_stream_runs_by_its_own_rule(
    client: httpx.AsyncClient, resources: Resources, runner: Runner, clock: FixedClock
) -> None:
    """Its events are long due by the rule, whose time was five minutes; a day has not passed."""
    clock.advance(timedelta(minutes=6))
    ok(await client.post(RESTORE, content=BANKS[0].read_bytes(), headers=GZIP))
    for sweep in resources.registry.sweeps:
        await sweep.run(resources)
    await runner.run_pending()
    assert ok(await client.get("/streams"))["streams"][0]["pendingCount"] == 0
    assert "My bird is called CanaryMoth." in await _facts(client)


def test_the_archives_of_tests_are_whole() -> None:
    for bank in BANKS:
        kinds = {
            json.loads(line)["kind"] for line in gzip.decompress(bank.read_bytes()).splitlines()
        }
        lacking = frozenset() if bank == NEWEST else YOUNGER
        assert kinds >= BY_NAME.keys() - {"revision"} - lacking
