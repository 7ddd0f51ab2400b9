"""Request ids and races: what is asked for once is done once, what happens at once is all kept."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.operations.store.tables import OperationRow, RequestIdRow
from app.platform.sessions.store.tables import SessionEventRow, SessionRow
from tests.support.bank import GONE, TAKEN, count, ok, refusal
from tests.support.sessions import create_session, event, ids, state, texts

_PATH = "/sessions/s"
_ONCE = {"Idempotency-Key": "once"}
_EVENT = event(actions={"stateDelta": {"k": 1}})
_REQUESTS: dict[str, dict[str, Any]] = {
    "create": {"method": "POST", "url": "/sessions", "json": {"userId": "42"}},
    "update": {"method": "PATCH", "url": _PATH, "json": {"displayName": "z"}},
    "append": {"method": "POST", "url": f"{_PATH}:appendEvent", "json": _EVENT},
    "delete": {"method": "DELETE", "url": _PATH},
}
_OTHERS: dict[str, dict[str, Any]] = {
    "create": {"json": {"userId": "7"}},
    "update": {"json": {"displayName": "y"}},
    "append": {"json": event("other")},
    "delete": {"headers": {**_ONCE, "If-Match": "*"}},
}
_TABLES = (SessionRow, SessionEventRow, OperationRow)


@pytest.mark.parametrize("method", _REQUESTS)
async def test_the_same_request_is_done_once(
    client: httpx.AsyncClient, clock: FixedClock, database: Database, method: str
) -> None:
    await create_session(client, "s")
    request = {**_REQUESTS[method], "headers": _ONCE}
    first = ok(await client.request(**request))
    rows = await count(database, *_TABLES)
    clock.advance(timedelta(hours=23, minutes=59))
    again = await client.request(**request)
    assert ok(again) == first
    assert again.headers["Idempotent-Replayed"] == "true"
    params = {"requestId": "once"}
    assert ok(await client.request(**_REQUESTS[method], params=params)) == first
    assert await count(database, *_TABLES) == rows
    assert refusal(await client.request(**{**request, **_OTHERS[method]})) == TAKEN
    clock.advance(timedelta(minutes=1))
    again = await client.request(**request)
    if method == "delete":
        assert refusal(again) == GONE
    elif method == "append":
        assert await texts(client, _PATH) == ["hello", "hello"]
    elif method == "create":
        assert ok(again)["name"] != first["name"]
    else:
        assert ok(again)["etag"] != first["etag"]


async def test_a_repeated_update_answers_the_session_as_it_is(client: httpx.AsyncClient) -> None:
    await create_session(client, "s")
    request = {**_REQUESTS["update"], "headers": {**_ONCE, "If-Match": "1"}}
    ok(await client.request(**request))
    ok(await client.patch(_PATH, json={"displayName": "later"}))
    assert ok(await client.request(**request))["displayName"] == "later"


async def test_equal_appends_at_once_append_once(client: httpx.AsyncClient) -> None:
    await create_session(client, "s")
    request = {**_REQUESTS["append"], "headers": _ONCE}
    answers = await asyncio.gather(*(client.request(**request) for _ in range(5)))
    assert [ok(answer) for answer in answers] == [{}] * 5
    assert await texts(client, _PATH) == ["hello"]


async def test_an_append_whose_answer_is_lost_is_not_done_again(
    client: httpx.AsyncClient, database: Database
) -> None:
    await create_session(client, "s")
    body = {"input": "a", "output": "b"}
    ok(await client.post(f"{_PATH}/exchanges", json=body, headers=_ONCE))
    async with database.transaction() as session:
        await session.execute(update(RequestIdRow).values(answer=None))
    again = await client.post(f"{_PATH}/exchanges", json=body, headers=_ONCE)
    assert refusal(again) == GONE
    assert "was done before" in again.json()["error"]["message"]
    assert await texts(client, _PATH) == ["a", "b"]


async def test_a_request_id_of_a_refused_append_is_not_used_up(client: httpx.AsyncClient) -> None:
    request = {**_REQUESTS["append"], "headers": _ONCE}
    assert refusal(await client.request(**request)) == GONE
    await create_session(client, "s")
    ok(await client.request(**request))
    assert await texts(client, _PATH) == ["hello"]


async def test_fifty_appends_at_once_leave_no_gap_and_lose_no_change(
    client: httpx.AsyncClient, database: Database
) -> None:
    await create_session(client, "s", sessionState={"kept": True})

    async def append(number: int) -> None:
        body = event(str(number), actions={"stateDelta": {f"k{number}": number}})
        ok(await client.post(f"{_PATH}:appendEvent", json=body))

    await asyncio.gather(*map(append, range(50)))
    async with database.snapshot() as session:
        rows = (await session.execute(select(SessionEventRow.seq, SessionEventRow.event_id))).all()
    assert sorted(row.seq for row in rows) == [*range(1, 51)]
    assert len({row.event_id for row in rows}) == 50
    expected = {f"k{number}": number for number in range(50)}
    assert await state(client, _PATH) == {"kept": True, **expected}
    assert sorted(await texts(client, _PATH), key=int) == [str(number) for number in range(50)]


async def test_of_several_creations_with_one_id_one_wins(client: httpx.AsyncClient) -> None:
    answers = await asyncio.gather(
        *(
            client.post("/sessions", params={"sessionId": "s"}, json={"userId": str(number)})
            for number in range(4)
        )
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    assert await ids(client) == ["s"]


async def test_appends_during_a_deletion_leave_nothing_behind(
    client: httpx.AsyncClient, database: Database
) -> None:
    await create_session(client, "s")
    appends = (client.post(f"{_PATH}:appendEvent", json=event()) for _ in range(6))
    answers = await asyncio.gather(*appends, client.delete(_PATH))
    assert {answer.status_code for answer in answers} <= {200, 404}
    assert await count(database, SessionRow, SessionEventRow) == (0, 0)
