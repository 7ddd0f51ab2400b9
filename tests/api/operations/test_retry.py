"""`{operation}:retry`: a failed operation's request runs again, once, unless it was erased."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import text

from app.adapters.db.session import Database
from app.adapters.llm.factory import open_models
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason, Unavailable
from app.platform.operations.services.runner import Runner
from app.process.main import create_app
from app.process.worker import make_runner
from tests.conftest import ADMIN_KEY
from tests.support.audit import all_events
from tests.support.bank import ENGINE_URL, Json, id_of, listed, ok
from tests.support.engines import FIRST
from tests.support.errors import refusal
from tests.support.generation import said, start
from tests.support.ingestion import ingest
from tests.support.keys import client_with, make_key
from tests.support.model_server import ModelServer, status
from tests.support.operations import USER, create_memory, path_of
from tests.support.queue import overwrite, stored
from tests.support.scripted import facts
from tests.support.sweeping import sweep

TEA = "I like tea."
CANARY = "I like canary7f3a."
OTHER = {"user_id": "43"}
PRECONDITION = (400, "FAILED_PRECONDITION")
NOT_KEPT = (*PRECONDITION, Reason.REQUEST_NOT_KEPT)
FULL = (429, "RESOURCE_EXHAUSTED", Reason.QUOTA_EXHAUSTED)


@pytest.fixture
def server(server: ModelServer) -> ModelServer:
    """A model's server that fails until the test heals it."""
    server.always(status(500))
    return server


@pytest.fixture
async def served(resources: Resources, server: ModelServer) -> AsyncIterator[Resources]:
    """A service whose model is at the server, and whose worker tries but once."""
    values = {
        "model": "openai:small",
        "model_base_url": server.url,
        "model_max_attempts": 1,
        "model_breaker_failures": 1_000,
        "worker_max_attempts": 1,
        "engine_max_queued_operations": 3,
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
    """Run a generation that fails; return the path of its operation."""
    path = await start(client, said(fact), **more)
    await runner.run_pending()
    assert "error" in ok(await client.get(path))
    return path


async def _refused(client: httpx.AsyncClient, path: str) -> tuple[int, str, Reason]:
    return refusal(await client.post(f"{path}:retry", json={}))


async def test_a_failed_generation_runs_again_once(
    client: httpx.AsyncClient, runner: Runner, server: ModelServer, database: Database
) -> None:
    """However many ask for it at once, a failed request has one more effect at most."""
    path = await _failed(client, runner)
    before = ok(await client.get(path))
    assert TEA not in str(before)
    server.always(facts(TEA))

    answers = await asyncio.gather(*(client.post(f"{path}:retry", json={}) for _ in range(2)))

    answers.sort(key=lambda answer: answer.status_code)
    retried, refused = ok(answers[0]), answers[1]
    assert refusal(refused) == (409, "ALREADY_EXISTS", Reason.ALREADY_RETRIED)
    info = refused.json()["error"]["details"][0]
    assert info["metadata"] == {"operation": retried["name"]}
    assert not retried["done"]
    assert retried["metadata"]["retriedOperation"] == before["name"]
    assert retried["metadata"]["@type"] == before["metadata"]["@type"]
    assert retried["metadata"]["modelCallCount"] == 0
    await runner.run_pending()
    assert await listed(client) == [TEA]
    after = ok(await client.get(path))
    assert after["metadata"].pop("retriedBy") == retried["name"]
    assert after == before
    done = ok(await client.get(path_of(retried["name"])))
    assert "error" not in done
    for operation in (path, path_of(retried["name"])):
        assert (await stored(database, id_of({"name": operation}))).request is None
    assert [TEA in str(answer.json()) for answer in answers] == [False, False]


async def test_a_retry_with_a_request_id_is_done_once_and_a_failed_one_can_be_retried(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await _failed(client, runner)
    asked = {"requestId": "again"}
    requests = (client.post(f"{path}:retry", params=asked) for _ in range(2))
    first, at_once = [ok(answer) for answer in await asyncio.gather(*requests)]
    again = await client.post(f"{path}:retry", params=asked)
    assert ok(again) == at_once == first
    other = await client.post(f"{path}:cancel", params=asked)
    assert refusal(other) == (409, "ALREADY_EXISTS", Reason.REQUEST_ID_REUSED)
    await runner.run_pending()
    events = await all_events(client, "method=retryOperation")
    assert [event["operation"] for event in events] == [first["name"]] * 3
    second = ok(await client.post(f"{path_of(first['name'])}:retry"))
    assert second["metadata"]["retriedOperation"] == first["name"]


async def test_what_did_not_fail_is_not_retried(
    client: httpx.AsyncClient, runner: Runner, server: ModelServer
) -> None:
    path = await start(client, said(TEA))
    assert await _refused(client, path) == (*PRECONDITION, Reason.OPERATION_RUNNING)
    server.always(facts(TEA))
    await runner.run_pending()
    assert await _refused(client, path) == (*PRECONDITION, Reason.OPERATION_NOT_FAILED)
    cancelled = await start(client, said(TEA))
    ok(await client.post(f"{cancelled}:cancel"))
    assert await _refused(client, cancelled) == (*PRECONDITION, Reason.OPERATION_NOT_FAILED)
    assert (await _refused(client, "/operations/1"))[0] == 404


async def test_a_request_is_kept_for_its_time_alone(
    client: httpx.AsyncClient,
    runner: Runner,
    served: Resources,
    clock: FixedClock,
    database: Database,
) -> None:
    path = await _failed(client, runner)
    row = id_of({"name": path})
    clock.advance(timedelta(seconds=172_799))
    assert await sweep(served, "requests of failed operations") == 0
    clock.advance(timedelta(seconds=1))
    assert await _refused(client, path) == NOT_KEPT
    assert (await stored(database, row)).request is not None
    assert await sweep(served, "requests of failed operations") == 1
    assert (await stored(database, row)).request is None
    assert await _refused(client, path) == NOT_KEPT


async def test_no_request_is_kept_where_the_setting_is_zero_or_its_revisions_would_be_over(
    client: httpx.AsyncClient, runner: Runner, served: Resources, clock: FixedClock
) -> None:
    values = {"failed_request_retention_seconds": 0.0}
    forgetful = make_runner(replace(served, settings=served.settings.model_copy(update=values)))
    assert await _refused(client, await _failed(client, forgetful)) == NOT_KEPT
    soon = (clock.now() + timedelta(hours=1)).isoformat()
    path = await _failed(client, runner, revisionExpireTime=soon)
    clock.advance(timedelta(hours=1))
    assert await _refused(client, path) == NOT_KEPT


async def test_other_kinds_are_not_retried_and_a_stream_is_flushed_instead(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    preview = await _failed(client, runner, validateOnly=True)
    answer = await client.post(f"{preview}:retry")
    assert refusal(answer) == (*PRECONDITION, Reason.KIND_NOT_RETRIED)
    assert "generation.generate" in answer.json()["error"]["message"]
    assert (await stored(database, id_of({"name": preview}))).request is None
    ingestion = path_of((await ingest(client, TEA, forceFlush=True))["name"])
    await runner.run_pending()
    answer = await client.post(f"{ingestion}:retry")
    assert refusal(answer) == (*PRECONDITION, Reason.KIND_NOT_RETRIED)
    assert "flush" in answer.json()["error"]["message"]


async def test_a_retry_is_refused_where_its_method_would_be(
    client: httpx.AsyncClient,
    app: FastAPI,
    runner: Runner,
    served: Resources,
    database: Database,
    clock: FixedClock,
) -> None:
    path = await _failed(client, runner)
    viewer = await make_key(database, clock.now(), "viewer")
    bound = await make_key(database, clock.now(), "editor", scope_conditions={"user_id": ["7"]})
    async with client_with(app, viewer) as reader, client_with(app, bound) as stranger:
        answer = await reader.post(path.removeprefix("/") + ":retry")
        assert refusal(answer) == (403, "PERMISSION_DENIED", Reason.PERMISSION_MISSING)
        assert "memories.generate" in answer.text
        assert (await stranger.post(path.removeprefix("/") + ":retry")).status_code == 404
    await _spend(database)
    await create_memory(client, TEA)
    await start(client, said(TEA))
    for limit in ("daily_max_tokens", "engine_max_memories", "engine_max_queued_operations"):
        settings = served.settings.model_copy(update={limit: 1})
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(create_app(replace(served, settings=settings))),
            base_url=ENGINE_URL,
            headers={"Authorization": f"Bearer {ADMIN_KEY}"},
        ) as strict:
            refused = await _refused(strict, path)
            assert refused[:2] == FULL[:2], (limit, refused)
            assert (refused == FULL) == (limit != "daily_max_tokens")
    assert ok(await client.post(f"{path}:retry"))["done"] is False


async def _spend(database: Database) -> None:
    """Record the use of some tokens today."""
    async with database.transaction() as session:
        await session.execute(text("update model_usage set input_tokens = 100"))


@pytest.mark.parametrize("how", ["delete", "purge", "soft purge", "engine"])
async def test_what_was_erased_is_not_run_again(
    client: httpx.AsyncClient, runner: Runner, database: Database, how: str
) -> None:
    """Nothing that was said before an erasure becomes a memory after it."""
    path = await _failed(client, runner, CANARY)
    wider = await _failed(client, runner, CANARY, scope={**USER, "app": "x"})
    other = await _failed(client, runner, TEA, scope=OTHER)
    if how == "delete":
        memory = await create_memory(client, TEA)
        ok(await client.delete(path_of(memory["name"]), params={"permanent": True}))
    elif how == "engine":
        ok(await client.delete("", params={"force": True}))
    else:
        body = {"filter": 'scope.user_id="42"', "force": True, "permanent": how == "purge"}
        ok(await client.post("/memories:purge", json=body))
    assert await _refused(client, path) == NOT_KEPT
    assert await _refused(client, wider) == NOT_KEPT
    assert await _tables_with(database, "canary7f3a") == []
    kept = (await stored(database, id_of({"name": other}))).request
    assert (kept is None) == (how == "engine")


async def _tables_with(database: Database, canary: str) -> list[str]:
    """Return the tables that hold a text anywhere."""
    found = []
    async with database.snapshot() as session:
        tables = await session.execute(
            text("select tablename from pg_tables where schemaname = 'public'")
        )
        for table in tables.scalars().all():
            rows = await session.execute(
                text(f"select count(*) from {table} t where t::text ilike :canary"),
                {"canary": f"%{canary}%"},
            )
            if rows.scalar_one():
                found.append(table)
    return found


async def test_operations_are_listed_by_their_state(
    client: httpx.AsyncClient, runner: Runner, server: ModelServer
) -> None:
    failed = await _failed(client, runner)
    server.always(facts(TEA))
    done = await start(client, said(TEA))
    await runner.run_pending()
    waiting = await start(client, said(TEA))

    async def having(state: str) -> list[str]:
        answer = await client.get("/operations", params={"filter": f'state="{state}"'})
        return [path_of(one["name"]) for one in ok(answer)["operations"]]

    assert await having("FAILED") == [failed]
    assert await having("SUCCEEDED") == [done]
    assert await having("PENDING") == [waiting]
    assert await having("CANCELLED") == []
    for wrong in ('state="BROKEN"', 'kind="x"'):
        answer = await client.get("/operations", params={"filter": wrong})
        assert refusal(answer) == (400, "INVALID_ARGUMENT", Reason.FILTER_INVALID)


async def test_an_undo_and_a_re_embedding_are_retried_as_their_methods_ask(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    memory = await create_memory(client, TEA)
    (made,) = ok(await client.get("/operations"))["operations"]
    for method, noted in (
        (f"{path_of(made['name'])}:undo", "undoneOperation"),
        (f"{FIRST}:reembed", "toModel"),
    ):
        queued = ok(await client.post(method))
        path = path_of(queued["name"])
        failure = Unavailable("Away.", Reason.MODEL_UNAVAILABLE).as_operation_error()
        await overwrite(database, id_of(queued), state="FAILED", error=failure, remove_time=None)
        retried = ok(await client.post(f"{path}:retry"))
        own = {"@type", "genericMetadata", "retriedOperation"}
        found = {key: value for key, value in retried["metadata"].items() if key not in own}
        assert noted in found
        before = {key: value for key, value in queued["metadata"].items() if key not in own}
        assert found == before
        await runner.run_pending()
        assert "response" in ok(await client.get(path_of(retried["name"])))
        if noted == "undoneOperation":
            undone = ok(await client.get(path_of(made["name"])))
            assert undone["metadata"]["undoneBy"] == retried["name"]
    gone = await client.get(path_of(memory["name"]))
    assert gone.status_code == 404


def _attempts(operation: Json) -> int:
    calls: int = operation["metadata"]["modelCallCount"]
    return calls


async def test_an_outage_is_outlasted_by_the_schedule(
    client: httpx.AsyncClient, served: Resources, server: ModelServer, clock: FixedClock
) -> None:
    values = {"worker_max_attempts": 10, "worker_retry_base_seconds": 1.0}
    runner = make_runner(replace(served, settings=served.settings.model_copy(update=values)))
    path = await start(client, said(TEA))
    began = clock.now()
    while clock.now() - began < timedelta(seconds=60):
        await runner.run_pending()
        clock.advance(timedelta(seconds=5))
    operation = ok(await client.get(path))
    assert not operation["done"]
    assert "lastError" in operation["metadata"]
    tried = _attempts(operation)
    assert 4 <= tried <= 9
    server.always(facts(TEA))
    clock.advance(timedelta(seconds=300))
    await runner.run_pending()
    operation = ok(await client.get(path))
    assert "response" in operation
    assert _attempts(operation) == tried + 1
    assert await listed(client) == [TEA]
