"""`GET /v1/server`: what runs here."""

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import version
from socket import gethostname

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.engine import open_engine
from app.adapters.db.migrate import wanted_revision
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.processes.services.processes import ProcessKind
from app.platform.processes.services.server import ServerService
from tests.api.processes.test_heartbeats import live
from tests.support.bank import Json, ok
from tests.support.keys import client_with, make_key
from tests.support.queue import enqueue, overwrite

_URL = "http://test/v1/server"
_NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"
_STARTED = "2026-01-15T12:00:00Z"
_EMPTY_QUEUE = {"dueCount": 0, "oldestDueSeconds": 0.0, "runningCount": 0, "failedCount": 0}


async def server(client: httpx.AsyncClient) -> Json:
    return ok(await client.get(_URL))


async def test_the_live_processes_are_told_and_no_others(
    client: httpx.AsyncClient, resources: Resources, clock: FixedClock
) -> None:
    own: Json = {"version": version("open-memory-bank"), "startTime": _STARTED}
    nobody = {**own, "database": {"schema": "ok"}, "queue": _EMPTY_QUEUE, "processes": []}
    assert await server(client) == nobody
    settings = resources.settings.model_copy(update={"process_beat_seconds": 600.0})
    async with live(replace(resources, settings=settings), ProcessKind.WORKER):
        (process,) = (await server(client))["processes"]
        assert len(process.pop("processId")) == 16
        assert process == {
            "kind": "WORKER",
            "release": version("open-memory-bank"),
            "schema": wanted_revision(),
            "host": gethostname(),
            "pid": os.getpid(),
            "startTime": _STARTED,
            "beatTime": _STARTED,
            "running": 0,
        }
        clock.advance(timedelta(seconds=31))
        assert await server(client) == nobody
    assert ok(await client.get("http://test/v1beta1/server")) == nobody


async def test_the_queue_is_counted_over_all_engines(
    client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    due, running, old, *failed = [
        await enqueue(database, clock, key=str(number), engine=number) for number in range(1, 6)
    ]
    leased = {"state": "RUNNING", "owner": "one", "lease_until": clock.now()}
    await overwrite(database, running, **leased)
    await overwrite(database, due, due_time=clock.now() - timedelta(seconds=7))
    for operation in failed:
        await overwrite(database, operation, state="FAILED")
    before = clock.now() - timedelta(days=1, seconds=1)
    await overwrite(database, old, state="FAILED", update_time=before)
    assert (await server(client))["queue"] == {
        "dueCount": 1,
        "oldestDueSeconds": 7.0,
        "runningCount": 1,
        "failedCount": 2,
    }


async def test_a_scraper_is_not_told(app: FastAPI, database: Database, clock: FixedClock) -> None:
    for permission, status in (("metrics.get", 403), ("server.get", 200)):
        key = await make_key(database, clock.now(), permissions=[permission])
        async with client_with(app, key) as caller:
            assert (await caller.get(_URL)).status_code == status


@pytest.fixture
async def away(resources: Resources) -> AsyncIterator[Resources]:
    """Resources whose database is not there."""
    nowhere = Database(open_engine(_NOWHERE, resources.settings))
    yield replace(resources, db=nowhere)
    await nowhere.close()


async def test_without_a_database_the_process_tells_of_itself(away: Resources) -> None:
    assert (await ServerService(away).get()).wire() == {
        "version": version("open-memory-bank"),
        "startTime": _STARTED,
        "database": {"error": "DATABASE_UNAVAILABLE"},
    }
