"""Failures: those that a retry has made good, groups of them, and the retry of many at once."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.adapters.llm.factory import open_models
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.platform.operations.services.runner import Runner
from app.process.main import create_app
from app.process.worker import make_runner
from tests.support.bank import ENGINE_URL, Json, ok
from tests.support.errors import refusal
from tests.support.generation import said, start
from tests.support.keys import client_with, make_key
from tests.support.model_server import ModelServer, status
from tests.support.operations import path_of
from tests.support.scripted import facts

TEA = "I like tea."
OTHER = {"user_id": "43"}


@pytest.fixture
async def served(resources: Resources, server: ModelServer) -> AsyncIterator[Resources]:
    """A service whose model fails until the test heals it, and whose worker tries but once."""
    server.always(status(500))
    values = {
        "model": "openai:small",
        "model_base_url": server.url,
        "model_max_attempts": 1,
        "model_breaker_failures": 1_000,
        "worker_max_attempts": 1,
    }
    settings = resources.settings.model_copy(update=values)
    models = open_models(settings)
    yield replace(resources, settings=settings, models=models)
    await models.close()


@pytest.fixture
def app(served: Resources) -> FastAPI:
    return create_app(served)


@pytest.fixture
def runner(served: Resources) -> Runner:
    return make_runner(served)


async def _failed(
    client: httpx.AsyncClient, runner: Runner, fact: str = TEA, **more: object
) -> str:
    path = await start(client, said(fact), **more)
    await runner.run_pending()
    assert "error" in ok(await client.get(path))
    return path


async def _again(client: httpx.AsyncClient, path: str) -> str:
    return path_of(ok(await client.post(f"{path}:retry"))["name"])


async def _found(client: httpx.AsyncClient, text: str) -> set[str]:
    page = ok(await client.get("/operations", params={"filter": text}))
    return {path_of(one["name"]) for one in page["operations"]}


async def test_a_failure_is_made_good_by_the_last_of_its_retries(
    app: FastAPI,
    client: httpx.AsyncClient,
    runner: Runner,
    server: ModelServer,
    database: Database,
    clock: FixedClock,
) -> None:
    untouched, first = await _failed(client, runner), await _failed(client, runner)
    foreign = await _failed(client, runner, scope=OTHER)
    second = await _again(client, first)
    assert await _found(client, "retried=true") == set(), "it waits"
    await runner.run_pending()
    third = await _again(client, second)
    cancelled = await _again(client, foreign)
    ok(await client.post(f"{cancelled}:cancel"))
    open_failures = "state=FAILED AND retried=false"
    assert await _found(client, open_failures) == {untouched, first, second, foreign}
    server.always(facts(TEA))
    await runner.run_pending()

    assert await _found(client, "retried=true") == {first, second}
    assert await _found(client, "retried!=false") == {first, second}
    assert await _found(client, open_failures) == {untouched, foreign}
    assert await _found(client, "state=FAILED") == {untouched, first, second, foreign}
    assert await _found(client, "NOT retried=true") == {untouched, third, foreign, cancelled}
    secret = await make_key(database, clock.now(), "user", scope_conditions={"user_id": ["42"]})
    async with client_with(app, secret) as bound:
        assert await _found(bound, "retried=true") == {first, second}
        assert await _found(bound, open_failures) == {untouched}
    ok(await client.delete(third))
    assert await _found(client, "retried=true") == set(), "its outcome is unknown"


async def test_failures_are_counted_by_reason_model_and_hour(
    app: FastAPI,
    client: httpx.AsyncClient,
    runner: Runner,
    server: ModelServer,
    database: Database,
    clock: FixedClock,
) -> None:
    empty = ok(await client.get("/operations:groupFailures"))
    assert empty == {"failureGroups": [], "operationCount": 0}
    first = await _failed(client, runner)
    await _failed(client, runner, scope=OTHER)
    clock.advance(timedelta(hours=1))
    server.always(status(400))
    await _failed(client, runner, scope=OTHER)
    await start(client, said(TEA))

    away, refused = (
        {
            "reason": reason,
            "author": "openai:small",
            "startTime": f"2026-01-15T{hour}:00:00Z",
            "operationCount": count,
        }
        for reason, hour, count in (("MODEL_UNAVAILABLE", 12, 2), ("MODEL_REFUSED", 13, 1))
    )

    async def groups(of: httpx.AsyncClient, text: str = "") -> Json:
        return ok(await of.get("/operations:groupFailures", params={"filter": text}))

    assert await groups(client) == {"failureGroups": [refused, away], "operationCount": 3}
    by_reason = await groups(client, "error.reason=MODEL_UNAVAILABLE")
    assert by_reason == {"failureGroups": [away], "operationCount": 2}
    secret = await make_key(database, clock.now(), "user", scope_conditions={"user_id": ["42"]})
    async with client_with(app, secret) as bound:
        own = {"failureGroups": [{**away, "operationCount": 1}], "operationCount": 1}
        assert await groups(bound) == own
    server.always(facts(TEA))
    await _again(client, first)
    await runner.run_pending()
    assert (await groups(client, "retried=false"))["operationCount"] == 2
    unknown = await client.get("/operations:groupFailures", params={"filter": "model=x"})
    assert refusal(unknown) == (400, "INVALID_ARGUMENT", Reason.FILTER_INVALID)
    missing = await client.get(ENGINE_URL.removesuffix("/1") + "/77/operations:groupFailures")
    assert refusal(missing)[0] == 404
