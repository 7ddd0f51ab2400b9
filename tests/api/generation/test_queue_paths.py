"""A generation is queued by two paths: they store and answer the same, and refuse alike."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.bank import ENGINE_URL, Json, id_of, ok
from tests.support.cases import in_one_test
from tests.support.generation import given, said
from tests.support.keys import make_key
from tests.support.operations import USER, path_of
from tests.support.paths import AT_ONCE, STEP_BY_STEP, Paths
from tests.support.sessions import append, create_session
from tests.support.statements import statements_on

pytestmark = pytest.mark.plain_postgres("a cluster queues step by step")

TALK: Json = {"scope": USER, **said("I like tea.", "My sister lives in Rome.")}
SESSION: Json = {"vertexSessionSource": {"session": "reasoningEngines/1/sessions/s"}}
VALUES: dict[str, Json] = {
    "a conversation": TALK,
    "facts": {"scope": USER, **given("I like tea.")},
    "a preview": {**TALK, "validateOnly": True},
    "options": {
        **TALK,
        "metadata": {"k": {"stringValue": "v"}},
        "timeZone": "Europe/Berlin",
        "revisionLabels": {"run": "7"},
        "revisionTtl": "86400s",
        "rereadEvents": True,
    },
    "a scope of several keys": {**TALK, "scope": {"user_id": "42", "ключ": "Zoë 'x' %s"}},
    "a file": {
        "scope": USER,
        "directContentsSource": {
            "events": [
                {
                    "content": {
                        "role": "user",
                        "parts": [{"inlineData": {"mimeType": "image/png", "data": "aGk="}}],
                    }
                }
            ]
        },
    },
}


@pytest.fixture
async def paths(resources: Resources) -> Paths:
    return await Paths.open(resources, ADMIN_KEY)


@pytest.fixture
def clients(paths: Paths) -> dict[str, httpx.AsyncClient]:
    return paths.clients(ADMIN_KEY)


async def queued(
    database: Database, client: httpx.AsyncClient, body: Json, **params: str
) -> tuple[Json, str]:
    """Queue a generation; return all that came of it, and the path taken."""
    with statements_on(database, "INSERT INTO operations") as several:
        answer = ok(await client.post("/memories:generate", params=params, json=body))
    operation_id = id_of(answer)
    found = {
        "answer": answer,
        "read": ok(await client.get(path_of(answer["name"]))),
        "operations": await _rows(database, "operations", "operation_id", operation_id),
        "request_ids": await _rows(database, "request_ids", "operation_id", operation_id),
        "audit_events": await _rows(database, "audit_events", "operation", answer["name"]),
    }
    assert found["read"] == answer
    neutral: Json = json.loads(json.dumps(found).replace(operation_id, "operation"))
    return neutral, STEP_BY_STEP if several else AT_ONCE


async def _rows(database: Database, table: str, column: str, value: str) -> list[Any]:
    """Return rows without the ids by which two requests differ."""
    own = "- 'event_id' - 'request_id' - 'traceparent'"
    statement = text(f"select to_jsonb(t) {own} from {table} t where {column} = :value")
    async with database.snapshot() as session:
        return list((await session.execute(statement, {"value": value})).scalars())


async def both(paths: Paths, body: Json, *, key: str = ADMIN_KEY, once: bool = False) -> str:
    """Queue a generation by both paths, which must do the same; return the second's path."""
    found = {
        path: await queued(
            paths.database, client, body, **({"requestId": f"once {path}"} if once else {})
        )
        for path, client in paths.clients(key).items()
    }
    assert found[STEP_BY_STEP][1] == STEP_BY_STEP
    assert found[AT_ONCE][0] == found[STEP_BY_STEP][0]
    assert bool(found[AT_ONCE][0]["request_ids"]) is once
    return found[AT_ONCE][1]


@in_one_test("body", VALUES.values(), VALUES)
async def test_every_kind_of_request_is_queued_alike(paths: Paths, body: Json) -> None:
    assert await both(paths, body) == AT_ONCE


@pytest.mark.parametrize("users", [["42"], ["7", "42"]], ids=["one", "several"])
async def test_bound_keys_with_request_ids_are_served_at_once(
    paths: Paths, clock: FixedClock, users: list[str]
) -> None:
    bound = {"user_id": users}
    key = await make_key(paths.database, clock.now(), "editor", scope_conditions=bound)
    assert await both(paths, TALK, key=key, once=True) == AT_ONCE


async def test_a_session_is_looked_up_step_by_step(
    paths: Paths, clients: dict[str, httpx.AsyncClient]
) -> None:
    await create_session(clients[AT_ONCE], "s")
    await append(clients[AT_ONCE], "/sessions/s", "I like tea.")
    assert await both(paths, SESSION) == STEP_BY_STEP


async def test_what_was_queued_at_once_is_run(
    clients: dict[str, httpx.AsyncClient], runner: Runner
) -> None:
    before = len(ok(await clients[AT_ONCE].get("/memories"))["memories"])
    answer = ok(await clients[AT_ONCE].post("/memories:generate", json=TALK))
    await runner.run_pending()
    for client in clients.values():
        read = ok(await client.get(path_of(answer["name"])))
        assert len(read["response"]["generatedMemories"]) == 2
        (listed,) = [
            one
            for one in ok(await client.get("/operations"))["operations"]
            if one["name"] == answer["name"]
        ]
        assert read == listed
    assert len(ok(await clients[AT_ONCE].get("/memories"))["memories"]) == before + 2


Prepare = Callable[[Paths, FixedClock], Awaitable[tuple[Json, str]]]


async def _past(_: Paths, __: FixedClock) -> tuple[Json, str]:
    return {**TALK, "revisionExpireTime": "2020-01-01T00:00:00Z"}, ADMIN_KEY


async def _large_scope(_: Paths, __: FixedClock) -> tuple[Json, str]:
    return {**TALK, "scope": {str(n): "x" for n in range(6)}}, ADMIN_KEY


async def _foreign(paths: Paths, clock: FixedClock) -> tuple[Json, str]:
    bound = {"user_id": ["7"]}
    return TALK, await make_key(paths.database, clock.now(), "editor", scope_conditions=bound)


async def _may_not(paths: Paths, clock: FixedClock) -> tuple[Json, str]:
    return TALK, await make_key(paths.database, clock.now(), "viewer")


async def _engine_gone(paths: Paths, _: FixedClock) -> tuple[Json, str]:
    ok(await paths.clients(ADMIN_KEY)[STEP_BY_STEP].delete(ENGINE_URL, params={"force": "true"}))
    return TALK, ADMIN_KEY


async def _no_session(_: Paths, __: FixedClock) -> tuple[Json, str]:
    return SESSION, ADMIN_KEY


REFUSED: dict[str, tuple[Prepare, int]] = {
    "revisions that have expired": (_past, 400),
    "a scope of six": (_large_scope, 400),
    "a scope of others": (_foreign, 404),
    "a key without the permission": (_may_not, 403),
    "a deleted engine": (_engine_gone, 404),
    "no such session": (_no_session, 404),
}


@pytest.mark.parametrize("request_id", [None, "once"], ids=["without an id", "with an id"])
@pytest.mark.parametrize(("prepare", "status"), REFUSED.values(), ids=REFUSED)
async def test_both_refuse_alike_and_store_nothing(
    paths: Paths, clock: FixedClock, prepare: Prepare, status: int, request_id: str | None
) -> None:
    body, key = await prepare(paths, clock)
    before = await _stored(paths.database)
    params = {} if request_id is None else {"requestId": request_id}
    refused = [
        await client.post("/memories:generate", params=params, json=body)
        for client in paths.clients(key).values()
    ]
    assert [one.status_code for one in refused] == [status] * 2
    assert refused[0].json() == refused[1].json()
    assert await _stored(paths.database) == before


async def _stored(database: Database) -> list[Any]:
    statement = text("""
        select operation_id from operations union all select request_id from request_ids order by 1
    """)
    async with database.snapshot() as session:
        return list((await session.execute(statement)).scalars())


class TestQueue:
    """Two operations of the engine may wait."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"engine_max_queued_operations": 2})

    async def test_both_refuse_when_the_queue_is_full(
        self, paths: Paths, clients: dict[str, httpx.AsyncClient]
    ) -> None:
        for _ in range(2):
            ok(await clients[AT_ONCE].post("/memories:generate", json=TALK))
        before = await _stored(paths.database)
        params = {"requestId": "once"}
        refused = [
            await one.post("/memories:generate", params=params, json=TALK)
            for one in clients.values()
        ]
        assert [one.status_code for one in refused] == [429, 429]
        assert refused[0].json() == refused[1].json()
        assert await _stored(paths.database) == before


async def test_repeats_are_answered_by_both_and_other_requests_refused(
    paths: Paths, clients: dict[str, httpx.AsyncClient]
) -> None:
    params = {"requestId": "again"}
    first = ok(await clients[AT_ONCE].post("/memories:generate", params=params, json=TALK))
    before = await _stored(paths.database)
    other = {**TALK, **said("I like coffee.")}
    for client in clients.values():
        again = await client.post("/memories:generate", params=params, json=TALK)
        assert ok(again) == first
        assert again.headers["Idempotent-Replayed"] == "true"
        refused = await client.post("/memories:generate", params=params, json=other)
        assert refused.status_code == 409
    assert await _stored(paths.database) == before


async def test_repeats_that_arrive_at_once_have_one_effect(
    paths: Paths, clients: dict[str, httpx.AsyncClient]
) -> None:
    before = await _stored(paths.database)
    params = {"requestId": "together"}
    asking = [
        client.post("/memories:generate", params=params, json=TALK)
        for client in clients.values()
        for _ in range(8)
    ]
    answers = [ok(answer) for answer in await asyncio.gather(*asking)]
    assert answers == answers[:1] * 16
    assert len(await _stored(paths.database)) == len(before) + 2
