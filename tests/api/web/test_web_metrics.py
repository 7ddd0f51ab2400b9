"""Metrics that tell of the database, read when they are asked for."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import text
from structlog.testing import capture_logs

from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.adapters.llm.ports import Meter, Usage
from app.adapters.resources import Resources, Sweep
from app.kernel.clock import FixedClock
from app.kernel.errors import InvalidArgument, Reason, Unavailable
from app.platform.operations.services.runner import Job, Runner
from app.platform.upkeep.service import UpkeepService
from app.platform.usage import store
from app.settings.settings import Settings
from app.web.metrics import GaugeRefresh
from tests.conftest import START
from tests.support.keys import client_with, id_of, make_key
from tests.support.operations import USER
from tests.support.queue import KIND, enqueue, overwrite, runner_of
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.sockets import SOON_SECONDS
from tests.support.usage import LOCAL, MINI, record

_URL = "http://test/metrics"
_DUE = "memory_bank_operations_due"
_OLDEST = "memory_bank_operations_oldest_due_seconds"
_PENDING = "memory_bank_ingestion_pending_events"
_WAITED = "memory_bank_ingestion_oldest_pending_seconds"
_AGAIN = timedelta(seconds=5)
"""After this, a scrape reads the database anew."""
_READ = 'memory_bank_gauges_read_timestamp_seconds{source="%s"}'


@pytest.fixture(autouse=True)
def patient(app: FastAPI) -> None:
    """Let answers wait for a database that is slow because the machine is."""
    app.state.gauges._wait_seconds = SOON_SECONDS


async def _value(client: httpx.AsyncClient, series: str) -> float:
    """Return the value of one series; 0 where there is none yet."""
    answer = await client.get(_URL)
    assert answer.status_code == 200, answer.text
    found = re.findall(rf"^{re.escape(series)} (\S+)$", answer.text, re.MULTILINE)
    return float(found[0]) if found else 0.0


async def _queue(client: httpx.AsyncClient, count: int = 1) -> None:
    for number in range(count):
        body = {
            "scope": {**USER, "number": str(number)},
            "directMemoriesSource": {"directMemories": [{"fact": "I like tea."}]},
        }
        assert (await client.post("/memories:generate", json=body)).status_code == 200


async def test_the_queue_is_told_with_the_age_of_its_oldest(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    await _queue(client)
    clock.advance(timedelta(seconds=90))
    await _queue(client, 2)
    assert await _value(client, _DUE) == 3
    assert await _value(client, _OLDEST) == 90
    await runner.run_pending()
    clock.advance(timedelta(seconds=10))
    assert await _value(client, _DUE) == 0
    assert await _value(client, _OLDEST) == 0


async def test_what_is_due_later_does_not_count(
    client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    await _queue(client)
    async with database.transaction() as session:
        await session.execute(
            text("update operations set due_time = :due"),
            {"due": clock.now() + timedelta(minutes=1)},
        )
    assert await _value(client, _DUE) == 0
    clock.advance(timedelta(minutes=2))
    assert await _value(client, _OLDEST) == 60


async def test_operations_are_counted_by_kind_outcome_and_duration(
    client: httpx.AsyncClient, database: Database, clock: FixedClock, settings: Settings
) -> None:
    ended = 'memory_bank_operations_finished_total{kind="%s",reason="%s",state="%s"}'
    series = {
        ended % (KIND, "none", "SUCCEEDED"): 1,
        ended % (KIND, "FIELD_INVALID", "FAILED"): 1,
        f'memory_bank_operation_seconds_sum{{kind="{KIND}"}}': 12,
        f'memory_bank_operation_attempts_count{{kind="{KIND}"}}': 2,
        "memory_bank_operations_expired_leases_total": 1,
    }
    before = {name: await _value(client, name) for name in series}
    running = f'memory_bank_operations_running{{kind="{KIND}"}}'
    asked: list[float] = []

    async def work(job: Job) -> None:
        clock.advance(_AGAIN)
        asked.append(await _value(client, running))
        if len(asked) == 2:
            raise InvalidArgument.of_field("fact", "is bad.")
        async with job.db.transaction() as session:
            await job.finish(session, {}, {})

    first = await enqueue(database, clock, key="a")
    past = datetime(2020, 1, 1, tzinfo=UTC)
    await overwrite(database, first, state="RUNNING", owner="gone", lease_until=past)
    clock.advance(timedelta(seconds=2))
    worker = runner_of(database, clock, settings, work)
    assert await worker.run_pending() == 1
    await enqueue(database, clock, key="b")
    assert await worker.run_pending() == 1
    assert asked == [1, 1]
    clock.advance(_AGAIN)
    assert await _value(client, running) == 0
    after = {name: await _value(client, name) - before[name] for name in series}
    assert after == pytest.approx(series)


async def test_sweeps_tell_what_they_removed_and_when_they_last_succeeded(
    client: httpx.AsyncClient, resources: Resources, clock: FixedClock
) -> None:
    async def remove(_: Resources) -> int:
        return 3

    async def fail(_: Resources) -> int:
        raise ValueError

    registered = resources.registry.sweeps
    resources.registry.sweeps = (Sweep("trials", remove), Sweep("failures", fail))
    await UpkeepService(resources).sweep()
    last = 'memory_bank_sweep_last_timestamp_seconds{what="%s"}'
    assert await _value(client, last % "trials") == clock.now().timestamp()
    assert await _value(client, last % "failures") == 0
    assert await _value(client, 'memory_bank_sweep_removed_rows_total{what="trials"}') == 3
    resources.registry.sweeps = registered


async def test_embeddings_are_timed_and_searches_without_them_counted(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder
) -> None:
    series = {
        f'memory_bank_embedding_seconds_count{{model="{embedder.model_id}"}}': 2,
        "memory_bank_searches_lexical_total": 1,
    }
    before = {name: await _value(client, name) for name in series}
    search = {"scope": USER, "similaritySearchParams": {"searchQuery": "tea"}}
    for failure in (None, Unavailable("The model rests.", Reason.MODEL_UNAVAILABLE)):
        embedder.failure = failure
        assert (await client.post("/memories:retrieve", json=search)).status_code == 200
    assert {name: await _value(client, name) - before[name] for name in series} == series


async def test_the_pool_tells_who_waits_for_a_connection(
    client: httpx.AsyncClient, database_url: str, settings: Settings, app: FastAPI
) -> None:
    tuning = replace(settings.tuning, database_pool_overflow=0)
    narrow = settings.model_copy(update={"database_pool_size": 1, "tuning": tuning})
    database = Database(open_engine(database_url, narrow))
    state = 'memory_bank_database_pool_connections{state="%s"}'
    app.state.gauges = GaugeRefresh(FixedClock(START), {"pool": database.show_pool})

    done = asyncio.Event()

    async def hold() -> None:
        async with database.snapshot() as session:
            await session.execute(text("select 1"))
            await done.wait()

    holding = [asyncio.create_task(hold()) for _ in range(3)]
    async with asyncio.timeout(SOON_SECONDS):
        while await _value(client, state % "waiting") != 2:
            app.state.gauges = GaugeRefresh(FixedClock(START), {"pool": database.show_pool})
    shown = [await _value(client, state % name) for name in ("in use", "idle", "waiting")]
    done.set()
    await asyncio.gather(*holding)
    await database.close()
    assert shown == [1, 0, 2]


async def test_what_waits_in_streams_is_told_with_the_age_of_its_oldest(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock, database: Database
) -> None:
    for stream in ("a", "b"):
        assert await _value(client, _PENDING) == (0 if stream == "a" else 2)
        events = [
            {"eventId": f"{stream}{n}", "content": {"role": "user", "parts": [{"text": "I see."}]}}
            for n in range(2)
        ]
        body = {
            "scope": USER,
            "streamId": stream,
            "directContentsSource": {"events": events},
            "generationTriggerConfig": {"generationRule": {"idleDuration": "3600s"}},
        }
        answer = await client.post("/memories:ingestEvents", json=body)
        assert answer.status_code == 200, answer.text
        clock.advance(timedelta(minutes=2))
    assert await _value(client, _PENDING) == 4
    assert await _value(client, _WAITED) == 240
    # They are no operations that are due: nobody is late.
    assert await _value(client, _DUE) == 0
    async with database.transaction() as session:
        await session.execute(text("update streams set failure_count = 2 where stream_id = 'a'"))
    clock.advance(timedelta(hours=1))
    assert await _value(client, "memory_bank_streams_failed") == 1
    await runner.run_pending()
    clock.advance(timedelta(minutes=1))
    assert await _value(client, "memory_bank_streams_failed") == 0
    assert await _value(client, _PENDING) == 0
    assert await _value(client, _WAITED) == 0


async def test_the_database_is_not_asked_again_at_once(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    assert await _value(client, _DUE) == 0
    await _queue(client)
    clock.advance(timedelta(seconds=4))
    assert await _value(client, _DUE) == 0
    clock.advance(timedelta(seconds=1))
    assert await _value(client, _DUE) == 1


def _with(app: FastAPI, clock: FixedClock, **refreshers: Callable[[], Awaitable[None]]) -> None:
    app.state.gauges = GaugeRefresh(clock, refreshers)


async def test_a_source_that_fails_takes_no_metrics_away(
    app: FastAPI, client: httpx.AsyncClient, clock: FixedClock
) -> None:
    async def fail() -> None:
        raise Unavailable("The text of a secret.", Reason.DATABASE_UNAVAILABLE)

    async def succeed() -> None:
        pass

    _with(app, clock, failing=fail, working=succeed)
    with capture_logs() as logs:
        answer = await client.get(_URL)
    assert answer.status_code == 200
    assert "memory_bank_request_seconds" in answer.text
    [warning] = [one for one in logs if one["event"] == "metrics.refresh_failed"]
    assert warning["source"] == "failing"
    assert warning["error"].startswith("Unavailable at ")
    assert "secret" not in warning["error"]
    assert await _value(client, _READ % "working") == START.timestamp()
    assert await _value(client, _READ % "failing") == 0


async def test_a_slow_source_is_awaited_for_a_while_only_and_not_asked_twice(
    app: FastAPI, client: httpx.AsyncClient, clock: FixedClock
) -> None:
    asked: list[str] = []
    ended: list[str] = []
    go_on = asyncio.Event()

    async def slow() -> None:
        asked.append("slow")
        await go_on.wait()
        ended.append("slow")

    app.state.gauges = GaugeRefresh(clock, {"slow": slow}, wait_seconds=0.01)
    for _ in range(2):
        assert (await client.get(_URL)).status_code == 200
        clock.advance(timedelta(minutes=1))
    assert (asked, ended) == (["slow"], [])
    go_on.set()
    await asyncio.sleep(0.01)
    assert (await client.get(_URL)).status_code == 200
    assert (asked, ended) == (["slow", "slow"], ["slow", "slow"])


async def test_scrapes_at_once_ask_once(
    app: FastAPI, client: httpx.AsyncClient, clock: FixedClock
) -> None:
    asked: list[str] = []

    async def note() -> None:
        asked.append("note")
        await asyncio.sleep(0)

    _with(app, clock, note=note)
    answers = await asyncio.gather(*(client.get(_URL) for _ in range(5)))
    assert [answer.status_code for answer in answers] == [200] * 5
    assert asked == ["note"]


async def test_models_are_counted_by_what_all_processes_have_recorded(
    client: httpx.AsyncClient, database: Database, settings: Settings, clock: FixedClock
) -> None:
    series = {
        f'memory_bank_model_calls_total{{model="{MINI}"}}': 2,
        f'memory_bank_model_seconds_total{{model="{MINI}"}}': 1.5,
        f'memory_bank_model_tokens_total{{direction="input",model="{MINI}"}}': 300,
        f'memory_bank_model_tokens_total{{direction="output",model="{MINI}"}}': 40,
        f'memory_bank_model_tokens_total{{direction="output",model="{LOCAL}"}}': 7,
    }
    before = {name: await _value(client, name) for name in series}
    mini, local = Usage(2, 300, 40, 1_500), Usage(1, 5, 7, 100)
    await record(database, settings, clock.now(), mini=mini, local=local)
    clock.advance(_AGAIN)
    for name, added in series.items():
        assert await _value(client, name) - before[name] == pytest.approx(added)
    # The usage of a removed engine goes; what was counted stays, and what comes is added.
    async with database.transaction() as session:
        assert await store.remove_of_engine(session, 1, 10) == 2
    clock.advance(_AGAIN)
    assert await _value(client, next(iter(series))) - before[next(iter(series))] == 2
    await record(database, settings, clock.now() + timedelta(days=1), mini=mini, local=local)
    clock.advance(_AGAIN)
    assert await _value(client, next(iter(series))) - before[next(iter(series))] == 4


async def test_a_transaction_that_rolls_back_counts_nothing(
    client: httpx.AsyncClient, database: Database, clock: FixedClock, data_dir: Path
) -> None:
    async def fail() -> None:
        async with database.transaction() as session:
            meter = Meter({MINI: Usage(1, 1, 1, 1)})
            prices = Settings(data_dir=data_dir).model_prices
            await store.record(session, 1, clock.now(), meter, prices, "recall")
            raise RuntimeError

    name = f'memory_bank_model_calls_total{{model="{MINI}"}}'
    before = await _value(client, name)
    with pytest.raises(RuntimeError):
        await fail()
    clock.advance(_AGAIN)
    assert await _value(client, name) == before


async def test_refusals_are_counted_by_their_status_and_nobody_is_named(
    app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    secret = await make_key(database, clock.now(), "viewer")
    engine = "/v1beta1/projects/{project}/locations/{location}/reasoningEngines/{engine}"
    series = [
        f'memory_bank_request_seconds_count{{method="{method}",route="{route}",status="{status}"}}'
        for method, route, status in [
            ("GET", "none", 401),
            ("POST", f"{engine}/memories", 403),
            ("GET", "none", 403),
        ]
    ]
    before = [await _value(client, name) for name in series]
    async with client_with(app, secret) as viewer:
        assert (await viewer.post("/memories", json={})).status_code == 403
        assert (await viewer.get("/memories", headers={"Origin": "null"})).status_code == 403
        assert (await viewer.get("", headers={"Authorization": "x"})).status_code == 401
    after = [await _value(client, name) for name in series]
    assert [late - early for late, early in zip(after, before, strict=True)] == [1, 1, 1]
    told = (await client.get(_URL)).text
    assert id_of(secret) not in told
    assert "127.0.0.1" not in told
