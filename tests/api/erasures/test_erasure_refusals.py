"""What an erasure refuses: writes to its scope meanwhile, and requests that cannot be met."""

import asyncio
from datetime import timedelta

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import text

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import FailedPrecondition
from app.memory.generation.store import repository as generation
from app.platform.operations.services.runner import Runner
from tests.support.bank import ENGINE_URL, GONE, Json, field_of, listed, ok
from tests.support.cases import in_one_test
from tests.support.errors import refusal
from tests.support.generation import said
from tests.support.ingestion import IDLE, ingest
from tests.support.keys import client_with, make_key
from tests.support.locks import until_waiting
from tests.support.operations import USER, create_memory, path_of
from tests.support.sessions import create_session, event
from tests.support.sweeping import sweep
from tests.support.tasks import store, text_output

ERASED = (400, "FAILED_PRECONDITION", "SCOPE_BEING_ERASED")


async def _start(client: httpx.AsyncClient, **body: object) -> httpx.Response:
    return await client.post(f"{ENGINE_URL}:eraseScope", json={"scope": USER, **body})


async def _fail(runner: Runner, database: Database) -> None:
    """Run the pending operations, which have no attempt left."""
    async with database.transaction() as session:
        await session.execute(text("update operations set attempts = 99 where state = 'PENDING'"))
    await runner.run_pending()


async def _attempts(client: httpx.AsyncClient, memory: str, session: str) -> list[httpx.Response]:
    """Write to everything of a scope that can be written to."""
    fact: Json = {"fact": "I am back.", "scope": {**USER, "app": "x"}}
    source = said("I am back.")
    listed = {"requests": [{"memory": fact}]}
    artifact = {"name": "a", **text_output("back")}
    return [
        await client.post("/memories", json=fact),
        await client.patch(memory, params={"updateMask": "fact"}, json={"fact": "Changed."}),
        await client.delete(memory),
        await client.post("/memories:batchCreate", json=listed),
        await client.post("/memories:generate", json={"scope": USER, **source}),
        await client.post("/memories:ingestEvents", json={"scope": USER, **source}),
        await client.post("/sessions", json={"userId": "42"}),
        await client.post(f"{session}:appendEvent", json=event("I am back.")),
        await client.patch(
            session, params={"updateMask": "sessionState"}, json={"sessionState": {"user:a": 1}}
        ),
        await store(client, artifact, userId="42"),
    ]


async def test_lines_that_were_read_meanwhile_are_not_kept(
    client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    """A generation that leaves nothing writes nothing else."""
    ok(await _start(client))
    lines = {bytes(16): clock.now()}
    async with database.transaction() as session:
        await generation.keep(session, 1, {"user_id": "other-8"}, lines)
    with pytest.raises(FailedPrecondition, match="erased"):
        async with database.transaction() as session:
            await generation.keep(session, 1, USER, lines)


async def test_streams_of_others_are_reopened_meanwhile(
    client: httpx.AsyncClient, resources: Resources
) -> None:
    """An erasure that waits for a worker holds up nobody else's events."""
    for scope in (USER, {"user_id": "other-8"}):
        operation = await ingest(client, "I like tea.", scope=scope, **IDLE)
        ok(await client.post(f"{path_of(operation['name'])}:cancel"))
    ok(await _start(client))
    assert await sweep(resources, "stranded streams") == 1


async def test_nothing_is_written_to_a_scope_while_it_is_erased(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    """From the first commit of an erasure to its last, its scope takes no writes."""
    memory = path_of((await create_memory(client, "I like tea."))["name"])
    session = path_of((await create_session(client))["name"])
    ok(await _start(client))
    for answer in await _attempts(client, memory, session):
        assert refusal(answer) == ERASED, answer.request.url
    await create_memory(client, "I am somebody else.", {"user_id": "43"})
    ok(await client.get(memory))
    await runner.run_pending()
    answers = await _attempts(client, memory, session)
    statuses = [answer.status_code for answer in answers]
    assert statuses == [200, 404, 404, 200, 200, 200, 200, 404, 404, 200]


def _told(answer: httpx.Response) -> object:
    return answer.json()["error"]["details"][0]["metadata"]


async def test_a_scope_that_is_being_erased_has_one_operation(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    first = ok(await _start(client))
    assert ok(await _start(client)) == first
    assert ok(await _start(client, includeSessions=False))["name"] != first["name"]
    await runner.run_pending()
    assert ok(await _start(client))["name"] != first["name"]


async def test_an_erasure_that_failed_goes_on_under_its_certificate(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    await create_memory(client, "I like tea.")
    first = ok(await _start(client))
    await _fail(runner, database)
    failed = ok(await client.get(path_of(first["name"])))
    assert failed["error"]["details"][0]["reason"] == "ATTEMPTS_EXHAUSTED"
    refused = await client.post("/memories", json={"fact": "I am back.", "scope": USER})
    assert refusal(refused) == ERASED
    assert _told(refused) == {"operation": first["name"], "state": "FAILED"}
    assert first["name"] in refused.json()["error"]["message"]
    second = ok(await _start(client))
    refused = await client.post("/memories", json={"fact": "I am back.", "scope": USER})
    assert _told(refused) == {"operation": second["name"], "state": "PENDING"}
    await runner.run_pending()
    ended = ok(await client.get(path_of(second["name"])))
    assert ended["response"]["counts"]["memories"] == 1
    ok(await client.post("/memories", json={"fact": "I am back.", "scope": USER}))


async def test_the_sweep_takes_up_an_erasure_an_hour_after_it_failed(
    client: httpx.AsyncClient,
    runner: Runner,
    resources: Resources,
    database: Database,
    clock: FixedClock,
) -> None:
    await create_memory(client, "I like tea.")
    ok(await _start(client))
    await _fail(runner, database)
    assert await sweep(resources, "failed erasures") == 0
    clock.advance(timedelta(hours=1, seconds=1))
    assert await sweep(resources, "failed erasures") == 1
    assert await sweep(resources, "failed erasures") == 0
    await runner.run_pending()
    ok(await client.post("/memories", json={"fact": "I am back.", "scope": USER}))
    assert len(await listed(client)) == 1


async def test_the_sweep_waits_for_a_request_that_holds_the_engine(
    client: httpx.AsyncClient,
    runner: Runner,
    resources: Resources,
    database: Database,
    clock: FixedClock,
) -> None:
    """Both would queue the same erasure."""
    await create_memory(client, "I like tea.")
    ok(await _start(client))
    await _fail(runner, database)
    clock.advance(timedelta(hours=1, seconds=1))
    async with database.engine.begin() as holder:
        await holder.execute(text("select 1 from engines where engine_id = 1 for update"))
        sweeping = asyncio.create_task(sweep(resources, "failed erasures"))
        await until_waiting(database)
        assert not sweeping.done()
    assert await sweeping == 1


async def test_an_erasure_that_fails_again_and_again_makes_few_operations(
    client: httpx.AsyncClient,
    runner: Runner,
    resources: Resources,
    database: Database,
    clock: FixedClock,
) -> None:
    await create_memory(client, "I like tea.")
    ok(await _start(client))
    tried: list[int] = []
    for hour in range(24 * 32):
        if hour == 0 or await sweep(resources, "failed erasures"):
            tried.append(hour)
            await _fail(runner, database)
        clock.advance(timedelta(hours=1, seconds=1))
    assert tried == [0, 1, 3, 7, 15, 31, 63, 127, 255, 511]


async def test_a_repeated_request_is_answered_with_its_operation(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    url, params = f"{ENGINE_URL}:eraseScope", {"requestId": "once"}
    first = ok(await client.post(url, params=params, json={"scope": USER}))
    await runner.run_pending()
    again = ok(await client.post(url, params=params, json={"scope": USER}))
    assert again["name"] == first["name"]
    assert again["response"]["verified"]


async def test_ten_erasures_of_an_engine_run_at_once(client: httpx.AsyncClient) -> None:
    for number in range(10):
        ok(await _start(client, scope={"user_id": str(number)}))
    refused = await _start(client, scope={"user_id": "10"})
    assert refusal(refused) == (429, "RESOURCE_EXHAUSTED", "QUOTA_EXHAUSTED")
    ok(await _start(client, scope={"user_id": "9"}))


@in_one_test(
    ("body", "field"),
    [
        ({"scope": {}}, "scope"),
        ({"scope": {"user_id": "*"}}, "scope"),
        ({"scope": {str(n): "x" for n in range(6)}}, "scope"),
        ({"scope": {"user_id": "x"}, "validateOnly": "maybe"}, "validateOnly"),
        ({"validateOnly": True}, "scope"),
    ],
)
async def test_a_request_that_names_no_scope_is_refused(
    client: httpx.AsyncClient, body: Json, field: str
) -> None:
    assert field_of(await client.post(f"{ENGINE_URL}:eraseScope", json=body)) == field


@pytest.mark.parametrize("dry", ["yes", "no"])
async def test_a_bound_key_erases_within_its_conditions(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock, dry: str
) -> None:
    """What a key is not bound to does not exist for it."""
    await create_memory(client, "I like tea.")
    ok(await store(client, {"name": "a", **text_output("tea")}, userId="42"))
    conditions = {"user_id": ["42"]}
    secret = await make_key(database, clock.now(), "admin", scope_conditions=conditions)
    async with client_with(app, secret) as bound:
        for scope in ({"user_id": "7"}, {"app": "x"}):
            refused = await _start(bound, scope=scope, validateOnly=dry == "yes")
            assert refusal(refused)[:2] == GONE
        started = ok(await _start(bound, validateOnly=dry == "yes"))
        if dry == "yes":
            assert started["response"]["counts"]["memories"] == 1
        else:
            assert ok(await bound.get(path_of(started["name"])))["done"] is False
    secret = await make_key(database, clock.now(), "editor")
    async with client_with(app, secret) as editor:
        assert refusal(await _start(editor))[0] == 403
