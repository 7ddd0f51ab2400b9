"""States that sessions share: `user:` keys by user, `app:` keys by engine. `temp:` keys go.

Source: google-adk, `google.adk.sessions.State` and its session services.
"""

import asyncio
from pathlib import Path

import httpx
import pytest
from sqlalchemy import func, select

from app.adapters.db.base import Base
from app.adapters.db.session import Database
from app.kernel.paging import DEFAULT_PAGE_BYTES as MAX_PAGE_BYTES
from app.platform.operations.services.runner import Runner
from app.platform.sessions.schemas.sessions import MAX_STATE_BYTES
from app.platform.sessions.store.tables import AppStateRow, SessionRow, UserStateRow
from app.settings.settings import Settings
from tests.support.bank import Json, field_of, ok
from tests.support.engines import API, FIRST, create_engine
from tests.support.operations import path_of
from tests.support.sessions import append, create_session, event, events, ids, new_path, state

_STATE: Json = {"a": 1, "user:lang": "de", "app:v": [1, None], "temp:now": 1}
_MERGED: Json = {"a": 1, "user:lang": "de", "app:v": [1, None]}
_MOST = 1_200


async def _own(database: Database, path: str) -> Json:
    """Return what a session's row holds of its state."""
    session_id = path.rpartition("/")[2]
    statement = select(SessionRow.session_state).where(SessionRow.session_id == session_id)
    async with database.snapshot() as session:
        return (await session.execute(statement)).scalar_one()


async def _count(database: Database, table: type[Base]) -> int:
    async with database.snapshot() as session:
        return (await session.execute(select(func.count()).select_from(table))).scalar_one()


async def test_sessions_of_a_user_and_of_an_engine_share_states(client: httpx.AsyncClient) -> None:
    first = await create_session(client, "first", sessionState=_STATE)
    assert first["sessionState"] == _MERGED
    second = await create_session(client, "second", sessionState={"b": 2})
    assert second["sessionState"] == {"b": 2, "user:lang": "de", "app:v": [1, None]}
    other = await create_session(client, "other", userId="43")
    assert other["sessionState"] == {"app:v": [1, None]}
    listed = ok(await client.get("/sessions", params={"orderBy": "create_time"}))["sessions"]
    found = {one["name"].rpartition("/")[2]: one["sessionState"] for one in listed}
    assert found == {
        "first": first["sessionState"],
        "second": second["sessionState"],
        "other": other["sessionState"],
    }
    for name, expected in found.items():
        assert await state(client, f"/sessions/{name}") == expected


async def test_an_engine_does_not_see_the_states_of_another(
    client: httpx.AsyncClient, database: Database
) -> None:
    await create_session(client, sessionState=_STATE)
    made = (await create_engine(client))["name"]
    body = {"userId": "42", "sessionState": {"user:x": 1}}
    session = ok(await client.post(f"{API}/{made}/sessions", json=body))["response"]
    assert session["sessionState"] == {"user:x": 1}
    assert await _count(database, UserStateRow) == 2


async def test_events_change_what_is_shared(client: httpx.AsyncClient, database: Database) -> None:
    path, other = await new_path(client), await new_path(client)
    await append(client, path, actions={"stateDelta": {**_STATE, "user:gone": None}})
    # A null is a value, as in the session's own state.
    assert await state(client, other) == {"user:lang": "de", "app:v": [1, None], "user:gone": None}
    assert await _own(database, path) == {"a": 1}
    batch = [
        event("a", actions={"stateDelta": {"user:lang": "fr", "app:v": 2, "b": 1}}),
        event("b", actions={"stateDelta": {"user:lang": "en", "temp:t": 1}}),
    ]
    ok(await client.post(f"{other}/events:batch", json={"events": batch}))
    merged = {"a": 1, "user:lang": "en", "user:gone": None, "app:v": 2}
    assert await state(client, path) == merged
    assert await _own(database, other) == {"b": 1}


async def test_temporary_keys_are_stored_nowhere(
    client: httpx.AsyncClient, database: Database
) -> None:
    path = await new_path(client, sessionState={"temp:a": 1, "a": 1})
    ok(await client.patch(path, json={"sessionState": {"temp:a": 1, "b": 1}}))
    raw = {"actions": {"state_delta": {"temp:d": 1, "d": 1}, "stateDelta": {"temp:e": 1}}}
    await append(client, path, actions={"stateDelta": {"temp:c": 1, "c": 1}}, rawEvent=raw)
    assert await state(client, path) == {"b": 1, "c": 1}
    assert await _own(database, path) == {"b": 1, "c": 1}
    (stored,) = await events(client, path)
    assert stored["actions"] == {"stateDelta": {"c": 1}}
    assert stored["rawEvent"] == {"actions": {"state_delta": {"d": 1}, "stateDelta": {}}}


async def test_a_state_that_is_sent_back_copies_nothing_into_the_session(
    client: httpx.AsyncClient, database: Database
) -> None:
    path, other = await new_path(client, sessionState=_STATE), await new_path(client)
    merged = await state(client, path)
    await append(client, other, actions={"stateDelta": {"user:since": 1}})
    body = {"sessionState": {**merged, "a": 2}}
    for mask in ({}, {"updateMask": "session_state"}):
        changed = ok(await client.patch(path, params=mask, json=body))["sessionState"]
        # What came in between stays: a state that is shared loses no key by what is not sent.
        assert changed == {**_MERGED, "a": 2, "user:since": 1}
        assert await _own(database, path) == {"a": 2}
    await append(client, other, actions={"stateDelta": {"app:v": 3}})
    assert await state(client, path) == {**_MERGED, "a": 2, "user:since": 1, "app:v": 3}


async def test_an_update_changes_keys_and_takes_away_those_that_are_null(
    client: httpx.AsyncClient, database: Database
) -> None:
    path, other = await new_path(client, sessionState=_STATE), await new_path(client)
    body = {"sessionState": {"user:lang": None, "user:n": 1, "app:v": None, "app:w": True}}
    changed = ok(await client.patch(path, json=body))
    assert changed["sessionState"] == {"user:n": 1, "app:w": True}
    assert await state(client, other) == {"user:n": 1, "app:w": True}
    # An update that does not concern the state leaves it alone; one that clears it, the own part.
    ok(await client.patch(path, json={"displayName": "Trip", "sessionState": {"a": 1}}))
    ok(await client.patch(path, params={"updateMask": "displayName"}, json={}))
    assert await state(client, path) == {"a": 1, "user:n": 1, "app:w": True}
    ok(await client.patch(path, params={"updateMask": "*"}, json={}))
    assert await state(client, path) == {"user:n": 1, "app:w": True}
    assert await _own(database, path) == {}
    for value in (1, 1.0, True):
        # Python takes them for equal.
        ok(await client.patch(path, json={"sessionState": {"user:n": value}}))
        assert str((await state(client, other))["user:n"]) == str(value)


async def test_a_session_has_an_etag_of_its_own(client: httpx.AsyncClient) -> None:
    path, other = await new_path(client), await new_path(client)
    await append(client, path, actions={"stateDelta": {"user:a": 1, "app:a": 1}})
    assert ok(await client.get(path))["etag"] == "2"
    assert ok(await client.get(other))["etag"] == "1"


async def test_what_is_shared_outlives_the_sessions(client: httpx.AsyncClient) -> None:
    path = await new_path(client, sessionState=_STATE)
    ok(await client.delete(path))
    assert (await create_session(client))["sessionState"] == {"user:lang": "de", "app:v": [1, None]}


async def test_the_operation_of_a_creation_has_the_merged_state(client: httpx.AsyncClient) -> None:
    operation = ok(await client.post("/sessions", json={"userId": "42", "sessionState": _STATE}))
    read = ok(await client.get(path_of(operation["name"])))
    assert read["response"]["sessionState"] == _MERGED


async def test_concurrent_events_lose_no_keys(client: httpx.AsyncClient) -> None:
    paths = [await new_path(client) for _ in range(4)]
    keys = [f"{prefix}:{number}" for prefix in ("user", "app") for number in range(12)]

    async def send(number: int, key: str) -> None:
        body: Json = {"actions": {"stateDelta": {key: number, f"own{number}": 1}}}
        await append(client, paths[number % 4], **body)

    await asyncio.gather(*(send(number, key) for number, key in enumerate(keys)))
    shared = {key: number for number, key in enumerate(keys)}
    for path in paths:
        found = await state(client, path)
        assert {key: value for key, value in found.items() if ":" in key} == shared


class TestTheirSizes:
    """The states that are shared have a limit each."""

    @pytest.fixture
    def settings(self, data_dir: Path) -> Settings:
        return Settings(data_dir=data_dir, max_shared_state_bytes=_MOST)

    @pytest.mark.parametrize("prefix", ["user:", "app:"])
    async def test_a_state_does_not_grow_without_bound(
        self, client: httpx.AsyncClient, prefix: str
    ) -> None:
        half, key = "x" * (_MOST // 2), f"{prefix}b"
        path = await new_path(client, sessionState={f"{prefix}a": half})
        delta: Json = {"actions": {"stateDelta": {key: half}}}
        requests: list[tuple[str, str, str, Json]] = [
            ("POST", f"{path}:appendEvent", "actions.stateDelta", event(**delta)),
            (
                "POST",
                f"{path}/events:batch",
                "events[1].actions.stateDelta",
                {"events": [event("a"), event("b", **delta), event("c")]},
            ),
            ("PATCH", path, "sessionState", {"sessionState": {key: half, "own": 1}}),
            ("POST", "/sessions", "sessionState", {"userId": "42", "sessionState": {key: half}}),
        ]
        for method, url, field, body in requests:
            answer = await client.request(method, url, json=body)
            assert field_of(answer) == field
            message = answer.json()["error"]["message"]
            assert str(_MOST) in message
            assert "max_shared_state_bytes" in message
            assert half not in message
        assert (await state(client, path)).keys() == {f"{prefix}a"}
        assert await ids(client) == [path.rpartition("/")[2]]
        assert await events(client, path) == []
        ok(await client.patch(path, json={"sessionState": {f"{prefix}a": None, key: half}}))
        assert (await state(client, path)).keys() == {key}

    async def test_a_merged_state_may_be_longer_than_its_parts(
        self, client: httpx.AsyncClient
    ) -> None:
        text = "x" * (_MOST - 100)
        sent = {"user:a": text, "app:a": text, "a": text}
        path = await new_path(client, sessionState=sent)
        assert await state(client, path) == sent
        merged = {"sessionState": {**sent, "a": "x" * (MAX_STATE_BYTES - 100)}}
        # Merged, it is longer than a session's own state may be.
        assert ok(await client.patch(path, json=merged))["sessionState"] == merged["sessionState"]


async def test_a_page_ends_where_its_states_are_long(client: httpx.AsyncClient) -> None:
    text = "x" * (MAX_STATE_BYTES - 100)
    await create_session(client, sessionState={"user:a": text, "app:a": text})
    for _ in range(5):
        await create_session(client)
    page = ok(await client.get("/sessions"))
    assert len(page["sessions"]) * 2 * len(text) <= MAX_PAGE_BYTES
    rest = ok(await client.get("/sessions", params={"pageToken": page["nextPageToken"]}))
    assert len(page["sessions"]) + len(rest["sessions"]) == 6


async def test_they_go_with_their_engine(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    for user in ("42", "43"):
        await create_session(client, userId=user, sessionState=_STATE)
    ok(await client.delete(FIRST, params={"force": "true"}))
    await runner.run_pending()
    assert await _count(database, UserStateRow) == 0
    assert await _count(database, AppStateRow) == 0


async def test_states_alone_do_not_keep_an_engine(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    ok(await client.delete(await new_path(client, sessionState=_STATE)))
    ok(await client.delete(FIRST))
    await runner.run_pending()
    assert await _count(database, UserStateRow) == 0
