"""An event is appended by two paths: they store and answer the same, and refuse alike."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db.server import MAX_CONNECTIONS
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.ids import bucket_of, bucket_of_user
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.bank import ENGINE_URL, Json, configure, ok
from tests.support.cases import in_one_test
from tests.support.keys import make_key
from tests.support.locks import until_waiting
from tests.support.paths import AT_ONCE, STEP_BY_STEP, Paths
from tests.support.sessions import create_session, event, events
from tests.support.statements import statements_on
from tests.support.totals import held, recounted

pytestmark = pytest.mark.plain_postgres("a cluster appends step by step")

OTHER = "Zoë 日本語 👩‍🚀 e\u0301 'x' %s \\u0041 \x7f"
ANSWER: Json = {"author": "agent", "content": {"role": "model", "parts": [{"text": "Yes."}]}}
POLICY = {"strategy": "every_n", "every": 1}
VALUES: dict[str, Json] = {
    "a question": {},
    "an answer": ANSWER,
    "a thought": {"content": {"role": "model", "parts": [{"text": "Hm.", "thought": True}]}},
    "no content": {"content": None, "errorCode": "E", "errorMessage": OTHER},
    "other texts": {"author": OTHER, "invocationId": OTHER},
    "an object": {"rawEvent": {"z": 1, "a": [-0.0, 1e308, OTHER], "actions": {"x": None}}},
    "metadata": {"eventMetadata": {"partial": False, "customMetadata": {"b": 1, "a": {}}}},
    "actions without a state": {"actions": {"artifactDelta": {"f": 1}, "stateDelta": {}}},
    "a temporary state": {"actions": {"stateDelta": {"temp:k": 1}}},
    "tokens": {"tokenCount": 7},
    "a time zone": {"timestamp": "2026-01-15T14:00:00.123456+02:00"},
    "the last moment": {"timestamp": "9999-12-31T23:59:59.999999Z"},
    "much text": {"content": {"role": "user", "parts": [{"text": "é" * 100_000}]}},
}
STATES: dict[str, Json] = {
    "its own": {"k": {"z": 1, "a": None}},
    "its user's": {"user:k": 1},
    "all sessions'": {"app:k": 1},
}
_URL = "/sessions/one:appendEvent"
_LEFT = {
    # As texts: JSON is stored as it was sent.
    "events": "select t\\:\\:text from session_events t order by seq",
    "session": "select t\\:\\:text from sessions t",
    "requests": """
        select to_jsonb(t) - 'request_id' from request_ids t
        where request_id like :run order by request_id
    """,
    "audit": """
        select to_jsonb(t) - 'event_id' - 'request_id' from audit_events t
        where method = 'appendEvent' order by event_id desc limit :count
    """,
}
"""What appends leave, by statement."""


@pytest.fixture
async def paths(resources: Resources) -> Paths:
    return await Paths.open(resources, ADMIN_KEY)


@pytest.fixture
def clients(paths: Paths) -> dict[str, httpx.AsyncClient]:
    return paths.clients(ADMIN_KEY)


async def appended(
    paths: Paths, path: str, bodies: Sequence[Json], *, user: str = "42", key: str = ADMIN_KEY
) -> tuple[Json, list[str]]:
    """Append events to a new session by a path; return all that came of it, and the paths taken.

    Each request has an id. The session is removed again, so that both paths find the same engine.
    """
    admin, database, run = paths.clients(ADMIN_KEY)[path], paths.database, f"{uuid4()}"
    before = await held(database)
    await create_session(admin, "one", userId=user)
    taken = []
    for number, body in enumerate(bodies):
        with statements_on(database, "INSERT INTO session_events") as several:
            answer = await paths.clients(key)[path].post(
                _URL, params={"requestId": f"{run} {number}"}, json=event(**body)
            )
        assert ok(answer) == {}
        taken.append(STEP_BY_STEP if several else AT_ONCE)
    after = await held(database)
    assert after == await recounted(database)
    ids = await _selected(database, "select event_id from session_events order by seq")
    assert {bucket_of(int(one)) for one in ids} == {bucket_of_user(user)}
    found = {
        **{
            name: await _selected(database, statement, run=f"{run}%", count=len(bodies))
            for name, statement in _LEFT.items()
        },
        "list": await events(admin, "/sessions/one"),
        "shown": ok(await admin.get("/sessions/one")),
        "totals": {kind: count - before[1][kind] for kind, count in after[1].items()},
    }
    ok(await admin.delete("/sessions/one"))
    written = json.dumps(found)
    for number, one in enumerate(ids):
        written = written.replace(one, f"event {number}")
    return json.loads(written), taken


async def _selected(database: Database, statement: str, **values: Any) -> list[Any]:
    given = {name: value for name, value in values.items() if f":{name}" in statement}
    async with database.snapshot() as session:
        return list((await session.execute(text(statement), given)).scalars())


async def both(paths: Paths, bodies: Sequence[Json], **options: Any) -> list[str]:
    """Append events by both paths, which must do the same; return the paths of the second."""
    expected, taken = await appended(paths, STEP_BY_STEP, bodies, **options)
    assert set(taken) == {STEP_BY_STEP}
    found, taken = await appended(paths, AT_ONCE, bodies, **options)
    assert found == expected
    return taken


@in_one_test("body", VALUES.values(), VALUES)
async def test_every_kind_of_event_is_stored_alike(paths: Paths, body: Json) -> None:
    assert await both(paths, [body]) == [AT_ONCE]


async def test_exchanges_are_numbered_alike(paths: Paths) -> None:
    tool = {"author": "tool", "content": {"role": "tool", "parts": [{"text": "7"}]}}
    talk = [ANSWER, {}, {}, tool, ANSWER, ANSWER, {}, tool, {}, ANSWER]
    assert await both(paths, talk) == [AT_ONCE] * len(talk)


@in_one_test("user", ["a", OTHER, '"', "\\", "\t\n\r\b\f\x01\x1f", "/", "é" * 128])
async def test_ids_carry_the_bucket_of_any_user(paths: Paths, user: str) -> None:
    assert await both(paths, [{}], user=user) == [AT_ONCE]


@pytest.mark.parametrize(
    "conditions", [{"user_id": ["42"]}, {"user_id": ["7", "42"]}], ids=["one", "several"]
)
async def test_bound_keys_with_request_ids_are_served_at_once(
    paths: Paths, clock: FixedClock, conditions: dict[str, list[str]]
) -> None:
    key = await make_key(paths.database, clock.now(), "editor", scope_conditions=conditions)
    assert await both(paths, [{}, ANSWER], key=key) == [AT_ONCE] * 2


@in_one_test("delta", STATES.values(), STATES)
async def test_a_change_of_state_is_made_step_by_step(paths: Paths, delta: Json) -> None:
    changed = {"actions": {"stateDelta": delta}}
    found, taken = await appended(paths, AT_ONCE, [{}, changed])
    assert taken == [AT_ONCE, STEP_BY_STEP]
    assert found["shown"]["sessionState"].items() >= delta.items()


async def test_an_answer_that_makes_a_summary_due_queues_it(
    clients: dict[str, httpx.AsyncClient],
) -> None:
    """The policy is the engine's, then the session's, and the second process knows neither."""
    elsewhere, second = clients[STEP_BY_STEP], clients[AT_ONCE]
    await create_session(elsewhere, "own", memoryPolicy=POLICY)
    await create_session(elsewhere, "plain")
    for body in ({}, ANSWER):
        ok(await second.post("/sessions/own:appendEvent", json=event(**body)))
        ok(await second.post("/sessions/plain:appendEvent", json=event(**body)))
    assert await _summaries(second) == 1
    await configure(elsewhere, memoryPolicy=POLICY)
    for body in ({}, ANSWER):
        ok(await second.post("/sessions/plain:appendEvent", json=event(**body)))
    assert await _summaries(second) == 2


async def _summaries(client: httpx.AsyncClient) -> int:
    params = {"filter": 'kind="sessions.summarize"'}
    return len(
        ok(await client.get(f"{ENGINE_URL}/operations", params=params)).get("operations", [])
    )


Prepare = Callable[[Paths, FixedClock], Awaitable[tuple[str, Json, str]]]


async def _missing(_: Paths, __: FixedClock) -> tuple[str, Json, str]:
    return "none", {}, ADMIN_KEY


async def _foreign(paths: Paths, clock: FixedClock) -> tuple[str, Json, str]:
    bound = {"user_id": ["7"]}
    return "s", {}, await make_key(paths.database, clock.now(), "editor", scope_conditions=bound)


async def _other_scope(paths: Paths, clock: FixedClock) -> tuple[str, Json, str]:
    bound = {"app": ["x"]}
    return "s", {}, await make_key(paths.database, clock.now(), "editor", scope_conditions=bound)


async def _may_not(paths: Paths, clock: FixedClock) -> tuple[str, Json, str]:
    return "s", {}, await make_key(paths.database, clock.now(), "viewer")


async def _expired(paths: Paths, clock: FixedClock) -> tuple[str, Json, str]:
    await create_session(paths.clients(ADMIN_KEY)[STEP_BY_STEP], "short", ttl="60s")
    clock.advance(timedelta(minutes=2))
    return "short", {}, ADMIN_KEY


async def _engine_gone(paths: Paths, _: FixedClock) -> tuple[str, Json, str]:
    ok(await paths.clients(ADMIN_KEY)[STEP_BY_STEP].delete(ENGINE_URL, params={"force": "true"}))
    return "s", {}, ADMIN_KEY


async def _bad_body(_: Paths, __: FixedClock) -> tuple[str, Json, str]:
    return "s", {"author": "", "unknown": 1}, ADMIN_KEY


REFUSED: dict[str, tuple[Prepare, int]] = {
    "no such session": (_missing, 404),
    "a session of others": (_foreign, 404),
    "a key bound to another part of scopes": (_other_scope, 404),
    "a key without the permission": (_may_not, 403),
    "an expired session": (_expired, 404),
    "a deleted engine": (_engine_gone, 404),
    "a bad body": (_bad_body, 400),
}


@pytest.mark.parametrize("request_id", [None, "once"], ids=["without an id", "with an id"])
@pytest.mark.parametrize(("prepare", "status"), REFUSED.values(), ids=REFUSED)
async def test_both_refuse_alike_and_store_nothing(
    paths: Paths, clock: FixedClock, prepare: Prepare, status: int, request_id: str | None
) -> None:
    await create_session(paths.clients(ADMIN_KEY)[STEP_BY_STEP], "s")
    session, body, key = await prepare(paths, clock)
    before = await _stored(paths.database)
    params = {} if request_id is None else {"requestId": request_id}
    refused = [
        await client.post(f"/sessions/{session}:appendEvent", params=params, json=event(**body))
        for client in paths.clients(key).values()
    ]
    assert [one.status_code for one in refused] == [status] * 2
    assert refused[0].json() == refused[1].json()
    assert await _stored(paths.database) == before


async def _stored(database: Database) -> list[Any]:
    statements = (
        "select to_jsonb(t)::text from sessions t order by 1",
        "select to_jsonb(t)::text from session_events t order by 1",
        "select request_id from request_ids order by 1",
    )
    async with database.snapshot() as session:
        return [(await session.execute(text(one))).scalars().all() for one in statements]


class TestQuota:
    """The engine may have two events."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"engine_max_events": 2})

    async def test_both_refuse_what_has_no_room(
        self, paths: Paths, clients: dict[str, httpx.AsyncClient]
    ) -> None:
        await create_session(clients[AT_ONCE], "s")
        for _ in range(2):
            ok(await clients[AT_ONCE].post("/sessions/s:appendEvent", json=event()))
        before = await _stored(paths.database)
        refused = [
            await one.post("/sessions/s:appendEvent", json=event()) for one in clients.values()
        ]
        assert [one.status_code for one in refused] == [429, 429]
        assert refused[0].json() == refused[1].json()
        assert await _stored(paths.database) == before


async def test_repeats_are_answered_by_both_and_other_requests_refused(
    paths: Paths, clients: dict[str, httpx.AsyncClient]
) -> None:
    await create_session(clients[AT_ONCE], "s")
    url, params = "/sessions/s:appendEvent", {"requestId": "again"}
    ok(await clients[AT_ONCE].post(url, params=params, json=event()))
    before = await _stored(paths.database)
    for client in clients.values():
        again = await client.post(url, params=params, json=event())
        assert ok(again) == {}
        assert again.headers["Idempotent-Replayed"] == "true"
        assert (await client.post(url, params=params, json=event("x"))).status_code == 409
    assert await _stored(paths.database) == before


async def test_the_id_of_an_append_to_no_session_stays_free(
    clients: dict[str, httpx.AsyncClient],
) -> None:
    url, params = "/sessions/s:appendEvent", {"requestId": "once"}
    assert (await clients[AT_ONCE].post(url, params=params, json=event())).status_code == 404
    await create_session(clients[AT_ONCE], "s")
    ok(await clients[AT_ONCE].post(url, params=params, json=event()))
    assert len(await events(clients[AT_ONCE], "/sessions/s")) == 1


async def test_a_session_that_is_deleted_meanwhile_leaves_the_id_free(
    paths: Paths, clients: dict[str, httpx.AsyncClient]
) -> None:
    await create_session(clients[AT_ONCE], "s")
    url, params = "/sessions/s:appendEvent", {"requestId": "once"}
    is_locked = asyncio.Event()

    async def ask() -> httpx.Response:
        await is_locked.wait()
        return await clients[AT_ONCE].post(url, params=params, json=event())

    # Before the transaction, in which no other can be opened.
    asking = asyncio.create_task(ask())
    async with paths.database.transaction() as session:
        await session.execute(text("delete from sessions where session_id = 's'"))
        is_locked.set()
        await until_waiting(paths.database)
    assert (await asking).status_code == 404
    await create_session(clients[AT_ONCE], "s")
    ok(await clients[AT_ONCE].post(url, params=params, json=event()))
    assert len(await events(clients[AT_ONCE], "/sessions/s")) == 1


@pytest.mark.alone
async def test_appends_that_wait_for_their_engine_leave_room_for_other_hot_statements(
    paths: Paths, clients: dict[str, httpx.AsyncClient]
) -> None:
    client, is_locked = clients[AT_ONCE], asyncio.Event()
    await create_session(client, "one")
    ok(await client.post(_URL, json=event()))

    async def append() -> None:
        await is_locked.wait()
        ok(await client.post(_URL, json=event()))

    async def search() -> None:
        await is_locked.wait()
        await until_waiting(paths.database, 2)
        await asyncio.sleep(0.3)
        async with asyncio.timeout(2):
            await paths.database.run(b"select 1", [])

    asking = [asyncio.create_task(append()) for _ in range(MAX_CONNECTIONS)]
    searching = asyncio.create_task(search())
    async with paths.database.transaction() as session:
        await session.execute(text("select 1 from engines for update"))
        is_locked.set()
        await asyncio.wait({searching})
    await asyncio.gather(searching, *asking)


async def test_appends_of_both_paths_at_once_leave_no_gap(
    clients: dict[str, httpx.AsyncClient],
) -> None:
    """Half of them twice: a repeat waits for the request id that the other path holds."""
    await create_session(clients[AT_ONCE], "s")
    asking = [
        client.post("/sessions/s:appendEvent", params={"requestId": f"{n // 2}"}, json=event())
        for n in range(16)
        for client in clients.values()
    ]
    assert [ok(answer) for answer in await asyncio.gather(*asking)] == [{}] * 32
    assert [one["seq"] for one in await events(clients[AT_ONCE], "/sessions/s")] == [*range(1, 9)]


async def test_appends_and_a_deletion_at_once_end_well(
    paths: Paths, clients: dict[str, httpx.AsyncClient]
) -> None:
    for round_ in range(4):
        await create_session(clients[AT_ONCE], "s")
        asking = [
            client.post(
                "/sessions/s:appendEvent", params={"requestId": f"{round_}-{n}"}, json=event()
            )
            for n in range(8)
            for client in clients.values()
        ]
        asking.insert(7, clients[STEP_BY_STEP].delete("/sessions/s"))
        answers = await asyncio.gather(*asking)
        assert {one.status_code for one in answers} <= {200, 404}
    assert await held(paths.database) == await recounted(paths.database)
