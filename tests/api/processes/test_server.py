"""`GET /v1/server`: what runs here."""

import asyncio
import json
import os
import platform
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import version
from socket import gethostname
from typing import Annotated, Any, Literal, get_args, get_origin

import httpx
import pytest
from fastapi import FastAPI
from pydantic import BaseModel, SecretStr
from sqlalchemy import text

from app.adapters.db.engine import open_engine
from app.adapters.db.schema import wanted_revision
from app.adapters.db.session import Database
from app.adapters.lag import watched
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.language.facts import ENGINE
from app.platform.processes.service import ProcessKind, read_server
from app.settings.described import HIDDEN
from app.settings.environment import secret_names
from app.settings.settings import Settings
from tests.api.processes.test_heartbeats import live
from tests.conftest import ADMIN_KEY
from tests.support.bank import Json, ok
from tests.support.keys import client_with, make_key
from tests.support.queue import enqueue, overwrite

_URL = "http://test/v1/server"
_NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"
_STARTED = "2026-01-15T12:00:00Z"
_CANARY = "c4n4ry"
_ADDRESS = f"https://user:{_CANARY}@host.example/v1"
_EMPTY_QUEUE = {"dueCount": 0, "oldestDueSeconds": 0.0, "runningCount": 0, "failedCount": 0}


async def server(client: httpx.AsyncClient) -> Json:
    return ok(await client.get(_URL))


async def live_ones(client: httpx.AsyncClient, url: str = _URL) -> Json:
    """Return what the answer has of the service as a whole, and when the process started."""
    told = ok(await client.get(url))
    return {name: told[name] for name in ("version", "startTime", "queue", "processes")}


async def test_the_live_processes_are_told_and_no_others(
    client: httpx.AsyncClient, resources: Resources, clock: FixedClock
) -> None:
    own: Json = {"version": version("open-memory-bank"), "startTime": _STARTED}
    nobody = {**own, "queue": _EMPTY_QUEUE, "processes": []}
    assert await live_ones(client) == nobody
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
        assert await live_ones(client) == nobody
    assert await live_ones(client, "http://test/v1beta1/server") == nobody


async def test_process_models_and_database_are_described(
    client: httpx.AsyncClient, resources: Resources, database: Database
) -> None:
    resources.skew.found = timedelta(milliseconds=-1_500)
    told = await server(client)
    assert told["pythonVersion"] == platform.python_version()
    assert told["model"] == ENGINE
    assert told["embedder"] == {
        "model": "scripted/1",
        "dimensions": 384,
        "isLexicalOnly": False,
        "isReady": True,
    }
    async with database.snapshot() as session:
        release = await session.scalar(text("show server_version"))
        vector = await session.scalar(
            text("select extversion from pg_extension where extname = 'vector'")
        )
    assert told["database"].pop("sizeBytes") > 1_000_000
    assert told["database"] == {
        "schema": "ok",
        "serverVersion": release,
        "vectorVersion": vector,
        "isStandby": False,
        "clockSkewMilliseconds": -1_500,
    }
    async with watched():
        await asyncio.sleep(0.2)
    lag = (await server(client))["eventLoop"]["lagSeconds"]
    assert 0 <= lag["p50"] <= lag["p99"]


def plant(kind: Any) -> Any:
    """Return a value of a setting's type with the canary as its secret, or None: it holds none."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in {list, dict, tuple}:
        held = plant(args[0 if origin is tuple else -1])
        return held and {list: [held], dict: {"name": held}, tuple: (held,)}[origin]
    if origin is Literal:
        return args[0]
    if origin is not None:
        parts = args[:1] if origin is Annotated else args
        return next((found for part in parts if (found := plant(part)) is not None), None)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return plant_model(kind)
    return {SecretStr: SecretStr(_CANARY), str: _ADDRESS}.get(kind)


def plant_model(kind: type[BaseModel]) -> BaseModel | None:
    planted = {name: plant(field.annotation) for name, field in kind.model_fields.items()}
    held = {name: value for name, value in planted.items() if value is not None}
    is_whole = all(name in held for name, one in kind.model_fields.items() if one.is_required())
    return kind.model_construct(**held) if is_whole else None


async def test_no_setting_shows_a_secret_or_the_password_of_an_address(
    client: httpx.AsyncClient, resources: Resources
) -> None:
    fields = Settings.model_fields
    planted = {name: plant(field.annotation) for name, field in fields.items()}
    planted = {name: value for name, value in planted.items() if _CANARY in revealed(value)}
    assert {*secret_names(fields), "jwt_jwks", "model_base_url", "task_readers"} <= planted.keys()
    settings = resources.settings.model_copy(update=planted)
    told = (await read_server(replace(resources, settings=settings))).wire()
    assert _CANARY not in json.dumps(told)
    shown = {one["name"]: one for one in told["settings"]}
    assert list(shown) == [f"MEMORY_BANK_{name.upper()}" for name in fields]
    for name in planted:
        setting = shown[f"MEMORY_BANK_{name.upper()}"]
        assert f'"{HIDDEN}"' in json.dumps(setting["value"])
        assert setting["isDefault"] is False
    own = {one["name"]: one for one in (await server(client))["settings"]}
    assert own["MEMORY_BANK_ADMIN_KEY"]["value"] == HIDDEN
    assert ADMIN_KEY not in json.dumps(own)
    assert own["MEMORY_BANK_MODEL_CONCURRENCY"] == {
        "name": "MEMORY_BANK_MODEL_CONCURRENCY",
        "description": fields["model_concurrency"].description,
        "isDefault": True,
        "value": 20,
    }
    assert "value" not in own["MEMORY_BANK_MODEL"]
    assert own["MEMORY_BANK_TUNING"]["value"]["worker_retry_base_seconds"] == 0.01
    assert own["MEMORY_BANK_TUNING"]["isDefault"] is False


def revealed(value: object) -> str:
    """Return the text of a value, secrets included."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, BaseModel):
        return revealed(value.model_dump())
    if isinstance(value, dict):
        return " ".join(map(revealed, value.values()))
    return " ".join(map(revealed, value)) if isinstance(value, list) else str(value)


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
    told = (await read_server(away)).wire()
    assert (told["version"], told["startTime"]) == (version("open-memory-bank"), _STARTED)
    assert told["database"] == {"error": "DATABASE_UNAVAILABLE"}
    assert told["model"] == ENGINE
    assert told["settings"]
    assert not told.keys() & {"queue", "processes"}
