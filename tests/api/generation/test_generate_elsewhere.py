"""Generating into one engine from a session of another in the same project and location."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import select, update

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.memory.memories.store.tables import MemoryRow
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.services.runner import Runner
from app.platform.operations.store.tables import OperationRow
from app.settings.settings import Settings
from tests.support.audit import events, listed
from tests.support.bank import ENGINE, GONE, Json, id_of, ok, refusal
from tests.support.bank import listed as facts_of
from tests.support.engines import API, create_engine, update_engine
from tests.support.generation import run
from tests.support.keys import client_with, make_key
from tests.support.operations import path_of
from tests.support.person import erase
from tests.support.rows import rows_of
from tests.support.sessions import event
from tests.support.undo import undo, undone

TEA = "I like tea."
CARD = "4111 1111 1111 1111"
OWN = ENGINE.removesuffix("/")
GRACE = timedelta(microseconds=1)


@pytest.fixture
async def other(client: httpx.AsyncClient, app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client of another engine, which has the session `s` of the user 42."""
    name = (await create_engine(client))["name"]
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app),
        base_url=f"{API}/{name}/",
        headers=client.headers,
    ) as found:
        await _begin(found)
        yield found


async def _begin(other: httpx.AsyncClient, user: str = "42", said: str = TEA) -> None:
    ok(await other.post("sessions", params={"sessionId": "s"}, json={"userId": user}))
    ok(await other.post("sessions/s:appendEvent", json=event(said)))


def _engine(other: httpx.AsyncClient) -> str:
    return str(other.base_url).removeprefix(f"{API}/").strip("/")


def _source(other: httpx.AsyncClient, session: str = "s") -> Json:
    return {"vertexSessionSource": {"session": f"{_engine(other)}/sessions/{session}"}}


async def _generate(client: httpx.AsyncClient, body: Json) -> httpx.Response:
    return await client.post("/memories:generate", json=body)


async def _failed(client: httpx.AsyncClient, runner: Runner, operation: Json) -> Json:
    await runner.run_pending()
    ended = ok(await client.get(path_of(operation["name"])))
    assert "error" in ended
    return ended


async def test_memories_are_written_to_the_engine_of_the_request(
    client: httpx.AsyncClient, other: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    await run(client, runner, _source(other), scope=None)
    (memory,) = ok(await client.get("/memories"))["memories"]
    assert (memory["fact"], memory["scope"]) == (TEA, {"user_id": "42"})
    assert memory["name"].startswith(ENGINE)
    assert ok(await other.get("memories"))["memories"] == []
    async with database.snapshot() as session:
        rows = (await session.execute(select(MemoryRow.engine_id, MemoryRow.source))).all()
    assert rows == [(1, f"{_engine(other)}/sessions/s")]


@pytest.mark.parametrize(
    "form",
    [
        "{0}",
        "reasoningEngines/{1}",
        "memoryBanks/{1}",
        "projects/-/locations/-/reasoningEngines/{1}",
        "projects/default/locations/-/memoryBanks/{1}",
    ],
)
async def test_the_session_is_named_in_every_form(
    client: httpx.AsyncClient, other: httpx.AsyncClient, runner: Runner, form: str
) -> None:
    name = _engine(other)
    session = form.format(name, name.rpartition("/")[2]) + "/sessions/s"
    await run(client, runner, {"vertexSessionSource": {"session": session}})
    assert await facts_of(client) == [TEA]


async def test_a_session_of_another_place_is_not_there(client: httpx.AsyncClient) -> None:
    for place in ("projects/default/locations/far", "projects/far/locations/local"):
        name = (await create_engine(client, place))["name"]
        params = {"sessionId": "s"}
        ok(await client.post(f"{API}/{name}/sessions", params=params, json={"userId": "42"}))
        number = name.rpartition("/")[2]
        for session in (f"{name}/sessions/{{}}", f"reasoningEngines/{number}/sessions/{{}}"):
            answers = [
                await _generate(client, {"vertexSessionSource": {"session": session.format(one)}})
                for one in ("s", "t")
            ]
            assert [refusal(one) for one in answers] == [GONE, GONE]
            assert answers[0].text.replace("/s ", "/t ") == answers[1].text


async def test_the_log_of_each_engine_names_both(
    client: httpx.AsyncClient, other: httpx.AsyncClient, runner: Runner
) -> None:
    operation = await run(client, runner, _source(other))
    (own,) = await events(client, "method=generateMemories")
    (theirs,) = await listed(other, "auditEvents", "method=generateMemories")
    assert {own["operation"], theirs["operation"]} == {operation["name"]}
    assert operation["name"].startswith(ENGINE)
    assert own["resource"] == _engine(other)
    assert theirs["resource"] == f"{_engine(other)}/sessions/s"
    assert theirs["name"].startswith(_engine(other))
    differing = {name for name in own if own[name] != theirs[name]}
    assert differing == {"name", "resource"}


async def test_a_repeated_request_is_told_to_its_own_engine_alone(
    client: httpx.AsyncClient, other: httpx.AsyncClient
) -> None:
    params = {"requestId": "once"}
    first, again = [
        ok(await client.post("/memories:generate", params=params, json=_source(other)))
        for _ in range(2)
    ]
    assert first == again
    assert len(await listed(other, "auditEvents", "method=generateMemories")) == 1
    assert len(await events(client, "method=generateMemories")) == 2


async def test_a_preview_tells_what_would_be_and_an_undo_takes_it_back(
    client: httpx.AsyncClient, other: httpx.AsyncClient, runner: Runner
) -> None:
    dry = await run(client, runner, _source(other), validateOnly=True)
    (planned,) = dry["response"]["plannedChanges"]
    assert (planned["action"], planned["after"]["fact"]) == ("CREATED", TEA)
    assert await facts_of(client) == []
    done = await run(client, runner, _source(other))
    assert [*undone(await undo(client, runner, done["name"])).values()] == ["DELETED"]
    assert await facts_of(client) == []
    assert ok(await other.get("sessions/s"))["userId"] == "42"


async def _delete_session(other: httpx.AsyncClient, _: FixedClock) -> None:
    ok(await other.delete("sessions/s"))


async def _begin_anew(other: httpx.AsyncClient, clock: FixedClock) -> None:
    ok(await other.delete("sessions/s"))
    clock.advance(GRACE)
    await _begin(other, "7", "I like secrets.")


async def _delete_engine(other: httpx.AsyncClient, _: FixedClock) -> None:
    ok(await other.delete(f"{API}/{_engine(other)}", params={"force": "true"}))


@pytest.mark.parametrize("change", [_delete_session, _begin_anew, _delete_engine])
async def test_work_that_waits_reads_only_the_session_that_it_was_asked_for(
    client: httpx.AsyncClient,
    other: httpx.AsyncClient,
    runner: Runner,
    clock: FixedClock,
    change: Callable[[httpx.AsyncClient, FixedClock], Awaitable[None]],
) -> None:
    operation = ok(await _generate(client, _source(other)))
    await change(other, clock)
    ended = await _failed(client, runner, operation)
    assert ended["error"]["code"] == 5
    assert ended["error"]["message"] == f"{_engine(other)}/sessions/s does not exist."
    assert await facts_of(client) == []


async def test_a_deleted_engine_has_no_sessions_to_read(
    client: httpx.AsyncClient, other: httpx.AsyncClient, clock: FixedClock
) -> None:
    await _delete_engine(other, clock)
    answers = [await _generate(client, _source(other, one)) for one in ("s", "t")]
    assert [refusal(one) for one in answers] == [GONE, GONE]
    assert answers[0].text.replace("/s ", "/t ") == answers[1].text


async def test_an_engine_that_is_being_restored_is_not_read(
    client: httpx.AsyncClient, other: httpx.AsyncClient, database: Database
) -> None:
    async with database.transaction() as session:
        number = int(_engine(other).rpartition("/")[2])
        being = update(EngineRow).where(EngineRow.engine_id == number).values(restore={"id": "x"})
        await session.execute(being)
    answer = await _generate(client, _source(other))
    assert refusal(answer) == (400, "FAILED_PRECONDITION")


@pytest.mark.parametrize("masking", ["own", "theirs"])
async def test_each_engine_masks_what_is_read(
    client: httpx.AsyncClient,
    other: httpx.AsyncClient,
    runner: Runner,
    database: Database,
    masking: str,
) -> None:
    """What one of them masks is masked, though the other does not."""
    ok(await other.post("sessions/s:appendEvent", json=event(f"My card is {CARD}, I live here.")))
    rules = [{"kind": "PAYMENT_CARD", "action": "OFF"}]
    lenient = _engine(other) if masking == "own" else OWN
    config: Json = {"memoryBankConfig": {"privacyConfig": {"rules": rules}}}
    await update_engine(client, lenient, contextSpec=config)
    operation = await run(client, runner, _source(other))
    assert operation["metadata"]["maskedCounts"] == {"PAYMENT_CARD": 1}
    assert [*await rows_of(database, CARD)] == ["session_events"]


@pytest.mark.parametrize("masking", ["own", "theirs"])
async def test_each_engine_masks_what_two_events_say_together(
    client: httpx.AsyncClient,
    other: httpx.AsyncClient,
    runner: Runner,
    database: Database,
    masking: str,
) -> None:
    for text in ("My password is", "Xy7!pqRs9"):
        ok(await other.post("sessions/s:appendEvent", json=event(text)))
    rules = [{"kind": "CREDENTIAL", "action": "OFF"}]
    lenient = _engine(other) if masking == "own" else OWN
    config: Json = {"memoryBankConfig": {"privacyConfig": {"rules": rules}}}
    await update_engine(client, lenient, contextSpec=config)
    operation = await run(client, runner, _source(other))
    assert operation["metadata"]["maskedCounts"] == {"CREDENTIAL": 1}
    assert [*await rows_of(database, "Xy7!pqRs9")] == ["session_events"]


async def test_what_the_engine_of_the_session_refuses_is_refused(
    client: httpx.AsyncClient, other: httpx.AsyncClient, runner: Runner
) -> None:
    rules = [{"kind": "EMAIL", "action": "REJECT", "where": ["GENERATION"]}]
    ok(await other.post("sessions/s:appendEvent", json=event("Write to jane@example.com.")))
    config: Json = {"memoryBankConfig": {"privacyConfig": {"rules": rules}}}
    await update_engine(client, _engine(other), contextSpec=config)
    ended = await _failed(client, runner, ok(await _generate(client, _source(other))))
    assert ended["error"]["code"] == 3
    assert "jane" not in str(ended)


async def test_a_retry_reads_what_its_own_caller_may_read(
    client: httpx.AsyncClient,
    app: FastAPI,
    other: httpx.AsyncClient,
    database: Database,
    clock: FixedClock,
    runner: Runner,
) -> None:
    """A key that sees the failed operation, but not the session, does not get at what it says."""
    body = {**_source(other), "scope": {"user_id": "7"}}
    operation = ok(await _generate(client, body))
    await _fail(database, id_of(operation))
    path = path_of(operation["name"]).removeprefix("/")
    for bounds in ({"engines": ["1"]}, {"scope_conditions": {"user_id": ["7"]}}):
        secret = await make_key(database, clock.now(), "admin", **bounds)
        async with client_with(app, secret) as narrow:
            ok(await narrow.get(path))
            assert refusal(await narrow.post(f"{path}:retry")) == GONE
    retried = ok(await client.post(f"/{path}:retry"))
    await runner.run_pending()
    assert "response" in ok(await client.get(path_of(retried["name"])))
    told = await listed(other, "auditEvents", "method=retryOperation")
    assert [one["operation"] for one in told] == [retried["name"]]


async def _fail(database: Database, operation_id: str) -> None:
    """Have a waiting operation failed, as by a model that is away."""
    async with database.transaction() as session:
        failing = update(OperationRow).where(OperationRow.operation_id == operation_id)
        await session.execute(failing.values(state="FAILED", error={"code": 14, "message": "x"}))


async def test_the_erasure_of_a_person_takes_both_engines(
    client: httpx.AsyncClient,
    other: httpx.AsyncClient,
    database: Database,
    runner: Runner,
) -> None:
    ok(await other.delete("sessions/s"))
    params, body = {"sessionId": "of-quill-77"}, {"userId": "quill-77"}
    ok(await other.post("sessions", params=params, json=body))
    ok(await other.post("sessions/of-quill-77:appendEvent", json=event("I like CanaryMoth tea.")))
    await run(client, runner, _source(other, "of-quill-77"), scope=None)
    scope = {"user_id": "quill-77"}
    url = f"{API}/{_engine(other)}:eraseScope"
    first = ok(await other.post(url, json={"scope": scope}))
    await runner.run_pending()
    assert ok(await client.get(f"{API}/{first['name']}"))["response"]["verified"]
    left = await rows_of(database, "CanaryMoth", "quill-77")
    assert {"memories", "memory_revisions"} <= left.keys()
    assert not {"sessions", "session_events"} & left.keys()
    certificate = await erase(client, runner, scope)
    assert certificate["verified"]
    assert await rows_of(database, "CanaryMoth", "quill-77") == {}


class TestQuota:
    """The engine that memories are written to counts them, and is at its limit or not."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"engine_max_memories": 1})

    async def test_quotas_count_where_memories_are_written(
        self, client: httpx.AsyncClient, other: httpx.AsyncClient, runner: Runner
    ) -> None:
        full = {"fact": "Full.", "scope": {"user_id": "1"}}
        ok(await other.post("memories", json=full))
        assert (await other.post("memories", json=full)).status_code == 429
        await run(client, runner, _source(other))
        answer = await _generate(client, _source(other))
        assert answer.status_code == 429
