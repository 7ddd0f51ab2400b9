"""PATCH and DELETE of a session: wire specification, section 13.1."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.sessions.store.tables import SessionEventRow, SessionRow
from app.settings.settings import Settings
from tests.support.bank import GONE, STALE, after, count, field_of, ok, refusal
from tests.support.cases import in_one_test
from tests.support.sessions import append, create_session, new_path

_PATH = "/sessions/s"
_EMPTY = {"@type": "type.googleapis.com/google.protobuf.Empty"}


@pytest.fixture
async def session(client: httpx.AsyncClient) -> dict[str, Any]:
    fields = {"displayName": "d", "labels": {"k": "v"}, "sessionState": {"a": 1, "b": 2}}
    return await create_session(client, "s", **fields)


@pytest.mark.parametrize(
    ("mask", "body", "changed"),
    [
        (None, {"displayName": "z"}, {"displayName": "z"}),
        (None, {"session_state": {"c": None}}, {"sessionState": {"c": None}}),
        (None, {"userId": "42", "labels": {"a": "b"}}, {"labels": {"a": "b"}}),
        (None, {"displayName": None}, {"displayName": None}),
        (None, {}, {}),
        ("display_name", {"displayName": "z", "sessionState": {}}, {"displayName": "z"}),
        ("displayName,session_state", {"sessionState": {}}, {"displayName": None}),
        ("labels", {}, {"labels": None}),
        ("*", {"displayName": "z"}, {"displayName": "z", "labels": None, "sessionState": {}}),
        ("expire_time", {"expireTime": "2030-01-01T00:00:00Z"}, {}),
        ("user_id", {"userId": "42"}, {}),
    ],
)
async def test_only_what_is_asked_for_changes(
    client: httpx.AsyncClient,
    clock: FixedClock,
    session: dict[str, Any],
    mask: str | None,
    body: dict[str, Any],
    changed: dict[str, Any],
) -> None:
    clock.advance(timedelta(minutes=1))
    params = {} if mask is None else {"updateMask": mask}
    answer = ok(await client.patch(_PATH, params=params, json=body))
    expected = {**session, **changed, "updateTime": after(clock), "etag": "2"}
    expected["expireTime"] = answer["expireTime"]
    if "sessionState" in (mask or "") or mask == "displayName,session_state":
        expected["sessionState"] = {}
    assert answer == {key: value for key, value in expected.items() if value is not None}
    assert ok(await client.get(_PATH)) == answer


async def test_the_life_is_changed_when_asked(
    client: httpx.AsyncClient, clock: FixedClock, settings: Settings, session: dict[str, Any]
) -> None:
    clock.advance(timedelta(minutes=1))

    async def patched(mask: str | None, **body: str) -> str:
        params = {} if mask is None else {"updateMask": mask}
        found: str = ok(await client.patch(_PATH, params=params, json=body))["expireTime"]
        return found

    assert await patched(None, displayName="z") == session["expireTime"]
    assert await patched("display_name", ttl="10s") == session["expireTime"]
    assert await patched(None, ttl="60s") == after(clock, minutes=1)
    assert await patched("ttl", ttl="120s") == after(clock, minutes=2)
    moment = "2030-01-01T00:00:00Z"
    assert await patched("expire_time", expireTime=moment) == moment
    assert await patched("*") == after(clock, seconds=settings.session_ttl_seconds)


@in_one_test(
    ("field", "params", "body"),
    [
        ("userId", {}, {"userId": "7"}),
        ("updateMask", {"updateMask": "name"}, {}),
        ("updateMask", {"updateMask": "session_state.a"}, {}),
        ("expireTime", {}, {"expireTime": "2020-01-01T00:00:00Z"}),
        ("body", {}, {"ttl": "60s", "expireTime": "2030-01-01T00:00:00Z"}),
        ("labels", {}, {"labels": {"K": "v"}}),
    ],
)
async def test_what_cannot_change_is_named(
    client: httpx.AsyncClient,
    session: dict[str, Any],
    field: str,
    params: dict[str, str],
    body: dict[str, Any],
) -> None:
    assert field_of(await client.patch(_PATH, params=params, json=body)) == field
    assert ok(await client.get(_PATH)) == session


async def test_a_mask_alone_needs_no_body(
    client: httpx.AsyncClient, session: dict[str, Any]
) -> None:
    params = {"updateMask": "display_name", "sessionId": "s"}
    answer = ok(await client.patch(_PATH, params=params))
    assert "displayName" in session
    assert "displayName" not in answer


async def test_a_stale_etag_is_aborted(client: httpx.AsyncClient, session: dict[str, Any]) -> None:
    await append(client, _PATH)
    stale = {"If-Match": session["etag"]}
    body = {"displayName": "z"}
    assert refusal(await client.patch(_PATH, json=body, headers=stale)) == STALE
    assert refusal(await client.patch(_PATH, json={**body, "etag": session["etag"]})) == STALE
    assert refusal(await client.delete(_PATH, headers=stale)) == STALE
    present = ok(await client.get(_PATH))["etag"]
    changed = ok(await client.patch(_PATH, json={**body, "etag": present}))
    ok(await client.delete(_PATH, headers={"If-Match": f'"{changed["etag"]}"'}))


async def test_a_deletion_erases_the_session_and_its_events(
    client: httpx.AsyncClient, database: Database
) -> None:
    path, other = await new_path(client), await new_path(client)
    await append(client, path)
    await append(client, other)
    operation = ok(await client.delete(path))
    assert (operation["done"], operation["response"]) == (True, _EMPTY)
    assert await count(database, SessionRow, SessionEventRow) == (1, 1)
    for answer in (await client.get(path), await client.delete(path)):
        assert refusal(answer) == GONE
    ok(await client.get(other))


async def test_a_session_made_anew_has_no_old_events(client: httpx.AsyncClient) -> None:
    await create_session(client, "s")
    await append(client, _PATH)
    ok(await client.delete(_PATH))
    await create_session(client, "s")
    assert ok(await client.get(f"{_PATH}/events")) == {"sessionEvents": []}
