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
from tests.support.bank import ENGINE_URL, Json, field_of, listed, ok
from tests.support.errors import refusal
from tests.support.generation import said, start
from tests.support.keys import client_with, make_key
from tests.support.model_server import ModelServer, status
from tests.support.operations import path_of
from tests.support.queue import overwrite
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


async def _retry_all(client: httpx.AsyncClient, text: str = "", **more: object) -> Json:
    body = {"filter": text, **more}
    return ok(await client.post("/operations:batchRetry", json=body))


async def test_all_failures_run_again_at_once_but_each_only_once(
    client: httpx.AsyncClient, runner: Runner, server: ModelServer, database: Database
) -> None:
    """One that is refused, here since its request was erased meanwhile, concerns no other."""
    failed = [await _failed(client, runner, text, scope={"user_id": text}) for text in "abcd"]
    await _again(client, failed[0])
    await runner.run_pending()
    await _failed(client, runner, scope=OTHER)
    server.always(facts(TEA))
    text = 'scope."user_id"!="43"'
    counted = await _retry_all(client, text, validateOnly=True)
    assert counted["metadata"]["validateOnly"] is True
    # The retry of the first has failed, too, and takes its place.
    assert counted["response"]["retryCount"] == 4
    assert await _found(client, "done=false") == set()

    asked = {"requestId": "all"}
    requests = [
        client.post("/operations:batchRetry", params=asked, json={"filter": text}) for _ in "12"
    ]
    first, second = [ok(await request) for request in requests]
    assert first == second
    await overwrite(database, failed[3].rpartition("/")[2], request=None)
    await runner.run_pending()
    ended = ok(await client.get(path_of(first["name"])))
    assert ended["response"] == {
        "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1.BatchRetryOperationsResponse",
        "retryCount": 3,
        "refusedCounts": {"REQUEST_NOT_KEPT": 1},
    }
    made = ok(await client.get("/operations", params={"filter": "retried=true"}))["operations"]
    assert {path_of(one["name"]) for one in made} > set(failed[:3])
    again = await _retry_all(client, text, validateOnly=True)
    assert again["response"]["retryCount"] == 0


async def test_a_killed_worker_repeats_no_retry(
    client: httpx.AsyncClient,
    runner: Runner,
    server: ModelServer,
    database: Database,
    clock: FixedClock,
) -> None:
    failed = await _failed(client, runner)
    batch = await _retry_all(client)
    server.always(facts(TEA))
    await runner.run_pending()
    before = await _found(client, "")
    # As after a kill between the retry and the note of the progress.
    request = {"operations": [failed.rpartition("/")[2]], "isCapped": False, "conditions": {}}
    lost = {"state": "PENDING", "response": None, "remove_time": None, "due_time": clock.now()}
    queued = {**request, "engines": None}
    await overwrite(database, batch["name"].rpartition("/")[2], **lost, request=queued)
    await runner.run_pending()
    ended = ok(await client.get(path_of(batch["name"])))
    assert ended["response"]["retryCount"] == 1
    assert await _found(client, "") == before


async def test_a_full_queue_is_waited_for(
    served: Resources, client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    for text in "abc":
        await _failed(client, runner, text, scope={"user_id": text})
    batch = path_of((await _retry_all(client))["name"])
    settings = served.settings.model_copy(update={"engine_max_queued_operations": 1})
    narrow = make_runner(replace(served, settings=settings))
    for _ in range(4):
        await narrow.run_pending()
        clock.advance(timedelta(minutes=1))
    assert ok(await client.get(batch))["response"]["retryCount"] == 3


async def test_a_bound_key_retries_only_its_own(
    app: FastAPI,
    client: httpx.AsyncClient,
    runner: Runner,
    server: ModelServer,
    database: Database,
    clock: FixedClock,
) -> None:
    own, foreign = await _failed(client, runner), await _failed(client, runner, scope=OTHER)
    server.always(facts(TEA))
    secret = await make_key(database, clock.now(), "user", scope_conditions={"user_id": ["42"]})
    async with client_with(app, secret) as bound:
        named = f'name="{own.rpartition("/")[2]}" OR name="{foreign.rpartition("/")[2]}"'
        started = await _retry_all(bound, named)
        await runner.run_pending()
        ended = ok(await bound.get(path_of(started["name"])))
    assert ended["response"]["retryCount"] == 1
    assert await _found(client, "retried=true") == {own}
    (newer,) = await _found(client, 'kind=generation.generate AND state="SUCCEEDED"')
    assert ok(await client.get(newer))["metadata"]["caller"] == ended["metadata"]["caller"]
    viewer = await make_key(database, clock.now(), "viewer")
    async with client_with(app, viewer) as reader:
        answer = await reader.post("/operations:batchRetry", json={})
        assert refusal(answer) == (403, "PERMISSION_DENIED", Reason.PERMISSION_MISSING)


async def test_a_failed_generation_is_previewed_and_can_still_be_retried(
    client: httpx.AsyncClient, runner: Runner, server: ModelServer, database: Database
) -> None:
    failed = await _failed(client, runner)
    body = {"validateOnly": True}
    server.always(facts(TEA))
    preview = ok(await client.post(f"{failed}:retry", json=body))
    await runner.run_pending()
    shown = ok(await client.get(path_of(preview["name"])))
    assert shown["metadata"]["kind"] == "generation.preview"
    assert shown["metadata"]["retriedOperation"] == ok(await client.get(failed))["name"]
    (change,) = shown["response"]["plannedChanges"]
    assert (change["action"], change["after"]["fact"]) == ("CREATED", TEA)
    assert await listed(client) == []
    assert await _found(client, "retried=true") == set()
    again = await _again(client, failed)
    await runner.run_pending()
    assert await listed(client) == [TEA]
    refused = await client.post(f"{again}:retry", json=body)
    assert refusal(refused)[2] == Reason.OPERATION_NOT_FAILED
    other = await _failed_of_kind(client, database, "undo.undo")
    answer = await client.post(f"{other}:retry", json=body)
    assert field_of(answer) == "validateOnly"
    assert "undo.undo have no previews" in answer.text


async def _failed_of_kind(client: httpx.AsyncClient, database: Database, kind: str) -> str:
    path = await start(client, said(TEA))
    await overwrite(database, path.rpartition("/")[2], kind=kind, state="FAILED", key=None)
    return path
