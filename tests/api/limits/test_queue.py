"""How many operations of an engine may wait for a worker."""

import re
from typing import Any

import httpx
import psycopg
import pytest
from fastapi import FastAPI
from sqlalchemy import event

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.conftest import START
from tests.support.bank import GONE, ok, refusal
from tests.support.engines import API, FIRST, create_engine
from tests.support.generation import given, run, start
from tests.support.ingestion import IDLE, TEA, ended, ingest, read, runs_after
from tests.support.keys import client_with, make_key
from tests.support.operations import USER, create_memory
from tests.support.sessions import create_session
from tests.support.undo import ask

LIMIT = 3
TEXT = given("I like tea.")


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"engine_max_queued_operations": LIMIT})


async def _ask(
    client: httpx.AsyncClient, request_id: str | None = None, **fields: Any
) -> httpx.Response:
    params = {} if request_id is None else {"requestId": request_id}
    body = {"scope": USER, **TEXT, **fields}
    return await client.post("/memories:generate", json=body, params=params)


async def _fill(client: httpx.AsyncClient) -> list[str]:
    return [await start(client, TEXT) for _ in range(LIMIT)]


def _check_refused(answer: httpx.Response) -> None:
    assert refusal(answer) == (429, "RESOURCE_EXHAUSTED"), answer.text
    assert "Retry-After" not in answer.headers
    error = answer.json()["error"]
    (info,) = error["details"]
    assert info["reason"] == "QUOTA_EXHAUSTED"
    assert info["metadata"] == {"quota": "queuedOperations", "limit": "3"}
    assert error["message"] == "reasoningEngines/1 has reached its limit of queuedOperations: 3."


async def test_as_many_generations_wait_as_may_and_no_more(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    for _ in range(LIMIT):
        ok(await _ask(client))
    _check_refused(await _ask(client))
    # Nothing is left of what was refused.
    _check_refused(await _ask(client, validateOnly=True))
    assert len(ok(await client.get("/operations"))["operations"]) == LIMIT
    assert await runner.run_pending() == LIMIT


async def test_there_is_room_once_a_worker_has_run_them(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await _fill(client)
    _check_refused(await _ask(client))
    await runner.run_pending()
    await _fill(client)
    _check_refused(await _ask(client))


async def test_there_is_room_once_one_is_cancelled(client: httpx.AsyncClient) -> None:
    first, *_ = await _fill(client)
    ok(await client.post(f"{first}:cancel"))
    ok(await _ask(client))
    _check_refused(await _ask(client))


async def test_previews_and_undos_wait_like_generations(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    done = await run(client, runner, TEXT)
    ok(await _ask(client, validateOnly=True))
    ok(await ask(client, done["name"]))
    ok(await _ask(client))
    _check_refused(await _ask(client, validateOnly=True))
    _check_refused(await ask(client, done["name"]))
    _check_refused(await _ask(client))


async def test_a_request_that_was_let_in_is_answered_again_when_the_queue_is_full(
    client: httpx.AsyncClient,
) -> None:
    made = ok(await _ask(client, request_id="r"))
    for _ in range(LIMIT - 1):
        await start(client, TEXT)
    assert ok(await _ask(client, request_id="r"))["name"] == made["name"]
    # The id of a request that was refused can still be used.
    _check_refused(await _ask(client, request_id="s"))
    _check_refused(await _ask(client, request_id="s"))


async def test_the_queues_of_engines_are_their_own(client: httpx.AsyncClient) -> None:
    await _fill(client)
    path = f"{API}/{(await create_engine(client))['name']}/memories:generate"
    for _ in range(LIMIT):
        ok(await client.post(path, json={"scope": USER, **TEXT}))
    other = await client.post(path, json={"scope": USER, **TEXT})
    assert refusal(other) == (429, "RESOURCE_EXHAUSTED")
    _check_refused(await _ask(client))


async def test_what_waits_for_events_is_not_counted_nor_refused(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    streams = [
        await ingest(client, TEA, scope={"user_id": str(n)}, **IDLE) for n in range(LIMIT + 1)
    ]
    await _fill(client)
    _check_refused(await _ask(client))
    another = await ingest(client, TEA, scope={"user_id": "another"})
    await ended(client, runner, another)
    assert await runs_after(runner, clock, minutes=6) == len(streams)
    assert all([(await read(client, one))["done"] for one in streams])


async def test_what_a_worker_is_not_needed_for_goes_on(client: httpx.AsyncClient) -> None:
    await _fill(client)
    await create_memory(client, "I live in Oslo.")
    ok(await client.post("/memories:retrieve", json={"scope": USER}))
    ok(await client.post("/memories:purge", json={"filter": 'fact="none"', "force": True}))


async def test_an_engine_with_a_full_queue_can_be_deleted(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await _fill(client)
    ok(await client.delete(FIRST, params={"force": True}))
    await runner.run_pending()
    assert refusal(await _ask(client)) == GONE


async def test_keys_that_are_bound_to_scopes_share_the_queue_of_the_engine(
    app: FastAPI, client: httpx.AsyncClient, database: Database
) -> None:
    await _fill(client)
    secret = await make_key(database, START, "user", scope_conditions={"user_id": ["7"]})
    async with client_with(app, secret) as bound:
        _check_refused(await _ask(bound, scope={"user_id": "7"}))
        assert ok(await bound.get("/operations"))["operations"] == []


@pytest.mark.plain_postgres("looks at a plan")
async def test_no_more_than_the_queue_is_looked_at(
    client: httpx.AsyncClient, database: Database, database_url: str
) -> None:
    sent: list[str] = []

    def note(*arguments: Any) -> None:
        if "count(" in arguments[2] and "operations" in arguments[2]:
            sent.append(arguments[2])

    engine = database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    # A session is looked up step by step; the hot statement has the same part.
    await create_session(client, "s")
    source = {"vertexSessionSource": {"session": "reasoningEngines/1/sessions/s"}}
    ok(await client.post("/memories:generate", json=source))
    event.remove(engine, "before_cursor_execute", note)
    (statement,) = sent
    numbers = iter(range(1, 10))
    generic = re.sub(r"%\(\w+\)s", lambda _: f"${next(numbers)}", statement)
    with psycopg.connect(database_url) as connection:
        connection.execute(_MANY_ENDED)
        connection.execute(b"analyze operations")
        explain = f"explain (generic_plan) {generic}".encode()
        plan = "\n".join(line for (line,) in connection.execute(explain))
        connection.rollback()
    assert "ix_operations_queued" in plan, plan
    assert "Limit" in plan


_MANY_ENDED = b"""
    insert into operations
        (engine_id, operation_id, engine_name, kind, state, create_time, update_time, due_time)
    select 1, 'ended' || n, 'e', 'generation.generate', 'SUCCEEDED', now(), now(), now()
    from generate_series(1, 5000) n
"""


class TestAtNone:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"engine_max_queued_operations": 0})

    async def test_nothing_may_wait(self, client: httpx.AsyncClient) -> None:
        assert refusal(await _ask(client)) == (429, "RESOURCE_EXHAUSTED")
        await create_memory(client, "I live in Oslo.")


class TestWithoutBound:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"engine_max_queued_operations": None})

    async def test_any_number_may_wait(self, client: httpx.AsyncClient, runner: Runner) -> None:
        for _ in range(LIMIT + 2):
            ok(await _ask(client))
        assert await runner.run_pending() == LIMIT + 2
