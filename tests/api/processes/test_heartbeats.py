"""Heartbeats: what each process tells of itself, and what is read from it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select
from structlog.testing import capture_logs

from app.adapters.db.engine import open_engine
from app.adapters.db.schema import wanted_revision
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.processes.service import ProcessKind, beating
from app.platform.processes.store import ProcessRow
from app.platform.upkeep.jobs import sweep_once
from app.platform.upkeep.service import UpkeepService
from tests.conftest import START
from tests.support.bank import ok

_SOON_SECONDS = 60
_NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"


@pytest.fixture
def resources(resources: Resources) -> Resources:
    # One heartbeat each, so that the clock can be moved beyond it.
    settings = resources.settings.model_copy(update={"process_beat_seconds": 600.0})
    return replace(resources, settings=settings)


async def rows(database: Database) -> list[ProcessRow]:
    async with database.snapshot() as session:
        return list((await session.execute(select(ProcessRow))).scalars())


async def until_there(database: Database, count: int) -> None:
    async with asyncio.timeout(_SOON_SECONDS):
        while len(await rows(database)) != count:  # noqa: ASYNC110 - in Postgres
            await asyncio.sleep(0.01)


@asynccontextmanager
async def live(resources: Resources, kind: ProcessKind) -> AsyncIterator[None]:
    """Let a process of a kind send one heartbeat."""
    before = len(await rows(resources.db))
    async with beating(resources, kind):
        await until_there(resources.db, before + 1)
        yield


async def seen(client: httpx.AsyncClient) -> Any:
    return ok(await client.get("http://test/readyz"))["checks"]["workers"]


async def test_workers_count_from_their_first_heartbeat_to_their_end(
    client: httpx.AsyncClient, resources: Resources, clock: FixedClock
) -> None:
    assert await seen(client) == "0 seen"
    async with live(resources, ProcessKind.API):
        assert await seen(client) == "0 seen"
    async with live(resources, ProcessKind.WORKER), live(resources, ProcessKind.API_AND_WORKER):
        assert await seen(client) == "2 seen"
        metrics = (await client.get("http://test/metrics")).text
        assert "memory_bank_workers_seen 2.0" in metrics.splitlines()
    assert await seen(client) == "0 seen"
    async with live(resources, ProcessKind.WORKER):
        clock.advance(timedelta(seconds=30))
        assert await seen(client) == "1 seen"
        clock.advance(timedelta(seconds=1))
        assert await seen(client) == "0 seen"


async def test_a_process_that_is_silent_for_an_hour_is_removed(
    resources: Resources, database: Database, clock: FixedClock
) -> None:
    async with live(resources, ProcessKind.API):
        clock.advance(timedelta(hours=1))
        await UpkeepService(resources).sweep()
        assert len(await rows(database)) == 1
        clock.advance(timedelta(seconds=1))
        await UpkeepService(resources).sweep()
        assert await rows(database) == []


async def test_a_heartbeat_has_the_release_the_schema_and_the_last_sweep(
    resources: Resources, database: Database
) -> None:
    quick = resources.settings.model_copy(update={"process_beat_seconds": 0.01})
    async with live(replace(resources, settings=quick), ProcessKind.WORKER):
        (row,) = await rows(database)
        assert (row.kind, row.schema, row.running) == ("WORKER", wanted_revision(), 0)
        assert (row.start_time, row.last_sweep_time) == (START, None)
        await sweep_once(resources)
        async with asyncio.timeout(_SOON_SECONDS):
            while (await rows(database))[0].last_sweep_time is None:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.01)


async def test_heartbeats_that_fail_are_told_once_and_stop_nothing(resources: Resources) -> None:
    quick = resources.settings.model_copy(update={"process_beat_seconds": 0.01})
    nowhere = Database(open_engine(_NOWHERE, quick))
    with capture_logs() as lines:
        async with beating(replace(resources, settings=quick, db=nowhere), ProcessKind.WORKER):
            await asyncio.sleep(0.3)
    await nowhere.close()
    assert [line["event"] for line in lines].count("process.beat_failed") == 1
