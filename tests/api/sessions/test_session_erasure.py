"""Erasing an event: what it said is gone, its number stays."""

from datetime import timedelta

import httpx
import pytest
from sqlalchemy import select

from app.adapters.db.session import Database, Session
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.limits import Counted
from app.kernel.names import EngineName, SessionName
from app.platform.operations.services.runner import Runner
from app.platform.sessions.logic.event_text import EventNumbers
from app.platform.sessions.services.history import ErasedEvent
from app.platform.sessions.store import event_texts
from app.platform.sessions.store.tables import SessionEventRow, SessionRow
from tests.support.bank import ENGINE, GONE, Json, after, count, listed, ok, refusal
from tests.support.generation import run
from tests.support.operations import path_of
from tests.support.sessions import append, create_session, event, events, state, texts
from tests.support.totals import held, recounted

_PATH = "/sessions/s"
_FULL: Json = {
    "actions": {"stateDelta": {"seat": "12A"}},
    "errorCode": "canary",
    "errorMessage": "canary",
    "eventMetadata": {"customMetadata": {"canary": 1}},
    "rawEvent": {"canary": 1},
}
_KEPT = {"engine_id", "session_id", "seq", "event_id", "author", "invocation_id", "timestamp"}
_KEPT |= {"exchange", "delete_time", "size_bytes", "create_time"}


async def _paths(client: httpx.AsyncClient) -> list[str]:
    """Return the paths of a session's events."""
    return [path_of(one["name"]) for one in await events(client, _PATH)]


@pytest.fixture
async def second(client: httpx.AsyncClient) -> str:
    """The path of the second event of a session with three."""
    await create_session(client, "s")
    await append(client, _PATH, "I like tea.")
    content = {"role": "model", "parts": [{"text": "I live in Oslo."}]}
    named: Json = {"author": "Jane canary", "invocationId": "canary"}
    body = event(content=content, tokenCount=3, **_FULL) | named
    ok(await client.post(f"{_PATH}/events:batch", json={"events": [body]}))
    await append(client, _PATH, "I prefer coffee.")
    return (await _paths(client))[1]


async def test_of_an_erased_event_nothing_is_left_but_its_number(
    client: httpx.AsyncClient, database: Database, clock: FixedClock, second: str
) -> None:
    clock.advance(timedelta(minutes=1))
    assert ok(await client.delete(second)) == {}
    async with database.snapshot() as session:
        rows = (await session.execute(select(SessionEventRow))).scalars().all()
    gone = {row.seq: vars(row) for row in rows}[2]
    values = {column.key: gone[column.key] for column in SessionEventRow.__table__.columns}
    assert {name for name, value in values.items() if value is not None} == _KEPT
    assert (gone["exchange"], gone["size_bytes"], gone["delete_time"]) == (1, 0, clock.now())
    assert (gone["author"], gone["invocation_id"]) == ("", "")
    assert "canary" not in str(values)
    assert sorted(row.seq for row in rows) == [1, 2, 3]
    # What it did to the session's state is the session's by now.
    assert await state(client, _PATH) == {"seat": "12A"}
    session_now = ok(await client.get(_PATH))
    assert (session_now["etag"], session_now["updateTime"]) == ("5", after(clock))


async def test_an_erased_event_is_in_no_list(client: httpx.AsyncClient, second: str) -> None:
    ok(await client.delete(second))
    assert await texts(client, _PATH) == ["I like tea.", "I prefer coffee."]
    assert await texts(client, _PATH, orderBy="timestamp desc", pageSize=1) == ["I prefer coffee."]
    assert await texts(client, _PATH, filter='timestamp>="2026-01-01T00:00:00Z"') == [
        "I like tea.",
        "I prefer coffee.",
    ]


async def test_an_erased_event_is_not_there_to_be_erased(
    client: httpx.AsyncClient, second: str
) -> None:
    ok(await client.delete(second))
    other = await create_session(client)
    elsewhere = f"{path_of(other['name'])}/events/{second.rpartition('/')[2]}"
    absent = f"{_PATH}/events/700000000000000000"
    for path in (second, elsewhere, absent, f"{_PATH}/events/no.such", "/sessions/never/events/1"):
        assert refusal(await client.delete(path)) == GONE
    assert len(await events(client, _PATH)) == 2


async def test_a_repeated_erasure_is_answered_as_the_first_was(
    client: httpx.AsyncClient, second: str
) -> None:
    headers = {"Idempotency-Key": "once"}
    for _ in range(2):
        assert ok(await client.delete(second, headers=headers)) == {}
    assert ok(await client.get(_PATH))["etag"] == "5"


async def test_numbers_go_on_behind_an_erased_event(
    client: httpx.AsyncClient, database: Database, second: str
) -> None:
    paths = await _paths(client)
    for path in paths:
        ok(await client.delete(path))
    body: Json = {"input": "a", "output": "b", "expectedLastSeq": 3}
    made = ok(await client.post(f"{_PATH}/exchanges", json=body))
    # The erased question has no answer yet.
    assert [(one["seq"], one["exchange"]) for one in made["events"]] == [(4, 2), (5, 2)]
    assert await count(database, SessionEventRow) == (5,)
    ok(await client.delete(_PATH))
    assert await count(database, SessionRow, SessionEventRow) == (0, 0)
    assert second in paths


async def test_no_memory_is_made_of_an_erased_event(
    client: httpx.AsyncClient, runner: Runner, second: str
) -> None:
    first, _, _ = await _paths(client)
    ok(await client.delete(first))
    ok(await client.delete(second))
    await run(client, runner, {"vertexSessionSource": {"session": f"{ENGINE}{_PATH}"}})
    assert await listed(client) == ["I prefer coffee."]


async def test_no_context_is_made_of_an_erased_event(
    client: httpx.AsyncClient, database: Database, second: str
) -> None:
    ok(await client.delete(second))
    name = SessionName(EngineName.parse(ENGINE.removesuffix("/")), "s")
    async with database.snapshot() as session:
        said = await event_texts.list_event_texts(
            session, name, EventNumbers(1, 3), 10, newest=False
        )
    assert [(one.seq, one.text) for one in said] == [(1, "I like tea."), (3, "I prefer coffee.")]


async def test_an_erased_event_takes_no_room_but_counts(
    client: httpx.AsyncClient, database: Database, second: str
) -> None:
    before = (await held(database))[1]
    ok(await client.delete(second))
    after_it = (await held(database))[1]
    assert after_it[Counted.BYTES] < before[Counted.BYTES]
    assert after_it[Counted.EVENTS] == before[Counted.EVENTS] == 3
    assert await held(database) == await recounted(database)
    ok(await client.delete(_PATH))
    assert 1 not in await held(database)


async def test_who_keeps_what_events_say_is_told_in_the_transaction(
    client: httpx.AsyncClient, resources: Resources, second: str
) -> None:
    told: list[tuple[str, int]] = []

    async def hear(session: Session, change: ErasedEvent) -> None:
        row = SessionEventRow
        erased = select(row.seq).where(row.engine_id == 1, row.delete_time == change.now)
        assert (await session.execute(erased)).scalars().all() == [change.seq]
        told.append((change.name.session, change.seq))
        if len(told) > 1:
            raise RuntimeError

    resources.registry.event_erasers.append(hear)
    ok(await client.delete(second))
    assert refusal(await client.delete(second)) == GONE
    assert told == [("s", 2)]
    (first, third) = await _paths(client)
    assert (await client.delete(first)).status_code == 500
    assert await _paths(client) == [first, third]
