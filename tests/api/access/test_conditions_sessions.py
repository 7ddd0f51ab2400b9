"""Sessions and events by keys that are bound to scopes: issue 4, section 1.

The scope of a session is its user.
"""

from typing import Any

import httpx
import pytest

from app.kernel.errors import Reason
from tests.support.bank import GONE, Json, id_of, ok, refusal
from tests.support.bound import USERS, Bound, assert_alike
from tests.support.cases import in_one_test
from tests.support.errors import refusal as denial
from tests.support.operations import path_of
from tests.support.sessions import append, create_session, event, ids, texts
from tests.support.sessions import state as state_of

DENIED = (403, "PERMISSION_DENIED", Reason.PERMISSION_MISSING)


def _ids(users: tuple[str, ...]) -> list[str]:
    return sorted(f"s-{user}" for user in users)


@in_one_test(
    "params",
    [
        {},
        {"orderBy": "update_time"},
        {"filter": 'display_name:"Of"'},
        {"filter": 'user_id="42" OR user_id="43" OR user_id="7"'},
        {"filter": 'NOT user_id="none"'},
    ],
)
async def test_a_list_has_what_the_key_sees(bound: Bound, params: Json) -> None:
    assert sorted(await ids(bound.client, **params)) == _ids(bound.kind.users)


async def test_pages_have_no_more(bound: Bound, bank: httpx.AsyncClient) -> None:
    found: list[str] = []
    token: str | None = ""
    while token is not None:
        page = ok(await bound.client.get("/sessions", params={"pageSize": 1, "pageToken": token}))
        found += [id_of(one) for one in page["sessions"]]
        token = page.get("nextPageToken")
    assert sorted(found) == _ids(bound.kind.users)
    whole = ok(await bank.get("/sessions", params={"pageSize": 1}))
    rest = await ids(bound.client, pageToken=whole["nextPageToken"])
    assert set(rest) <= set(_ids(bound.kind.users))


async def test_a_session_is_used_where_the_key_sees_it(bound: Bound) -> None:
    for user in bound.kind.users:
        path = f"/sessions/s-{user}"
        assert ok(await bound.client.get(path))["userId"] == user
        await append(bound.client, path, "More.", actions={"stateDelta": {"a": 1}})
        await append(bound.client, path, "And more.")
        said = [f"Said by {user}.", "More.", "And more."]
        assert await texts(bound.client, path) == said
        changed = ok(await bound.client.patch(path, json={"displayName": "Changed"}))
        assert changed["displayName"] == "Changed"
        assert changed["sessionState"] == {"a": 1}
        ok(await bound.client.delete(path))
        assert refusal(await bound.client.get(path)) == GONE


async def test_a_context_carries_what_was_sent_where_the_key_sees_the_session(
    bound: Bound, bank: httpx.AsyncClient
) -> None:
    asked = {"includeRawEvents": True}
    for user in ("42", "43", "7"):
        await append(bank, f"/sessions/s-{user}", "More.", rawEvent={"of": user})
    for user in bound.kind.users:
        answer = ok(await bound.client.post(f"/sessions/s-{user}:context", json=asked))
        carried = [message.get("rawEvent") for message in answer["messages"]]
        assert carried[-1] == {"of": user}
    missing = await bound.client.post("/sessions/nothing:context", json=asked)
    for user in bound.kind.hidden_users:
        foreign = await bound.client.post(f"/sessions/s-{user}:context", json=asked)
        assert_alike(foreign, missing, f"/s-{user} ", "/nothing ")


REQUESTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "get": ("GET", "", {}),
    "events": ("GET", "/events", {}),
    "events from a time": ("GET", "/events", {"params": {"filter": 'timestamp>"2020-01-01"'}}),
    "update": ("PATCH", "", {"json": {"displayName": "Mine now"}}),
    "update by etag": ("PATCH", "", {"json": {"displayName": "Mine now", "etag": "9"}}),
    "move": ("PATCH", "", {"json": {"userId": "42"}}),
    "delete": ("DELETE", "", {}),
    "append": ("POST", ":appendEvent", {"json": event("Slipped in.")}),
    "append to the state": (
        "POST",
        ":appendEvent",
        {"json": event("Slipped in.", actions={"stateDelta": {"a": 1}})},
    ),
}


@in_one_test("request_name", REQUESTS)
async def test_a_foreign_session_is_told_as_one_that_is_not_there(
    bound: Bound, bank: httpx.AsyncClient, request_name: str
) -> None:
    method, tail, options = REQUESTS[request_name]
    missing = await bound.client.request(method, f"/sessions/nothing{tail}", **options)
    assert refusal(missing) == GONE
    for user in bound.kind.hidden_users:
        path = f"/sessions/s-{user}"
        foreign = await bound.client.request(method, path + tail, **options)
        assert_alike(foreign, missing, f"/s-{user} ", "/nothing ")
        assert ok(await bank.get(path))["displayName"] == f"Of {user}"
        assert await texts(bank, path) == [f"Said by {user}."]


async def test_what_sessions_of_a_user_share_is_seen_and_changed_by_who_sees_the_user(
    bound: Bound, bank: httpx.AsyncClient
) -> None:
    for user in ("42", "43", "7"):
        state = {"user:of": user, "app:tone": "warm"}
        ok(await bank.patch(f"/sessions/s-{user}", json={"sessionState": state}))
    for user in bound.kind.users:
        path = f"/sessions/s-{user}"
        assert await state_of(bound.client, path) == {"user:of": user, "app:tone": "warm"}
        await append(bound.client, path, actions={"stateDelta": {"user:n": 1}})
        made = await create_session(
            bound.client, userId=user, sessionState={"user:of": f"{user}!", "user:m": 2}
        )
        expected = {"user:of": f"{user}!", "user:n": 1, "user:m": 2, "app:tone": "warm"}
        assert made["sessionState"] == await state_of(bank, path) == expected
        ok(await bound.client.patch(path, json={"sessionState": {"user:m": None}}))
        assert "user:m" not in await state_of(bank, path)
    page = ok(await bound.client.get("/sessions"))["sessions"]
    assert {one["userId"] for one in page} == set(bound.kind.users)
    assert all(one["sessionState"]["user:of"] == one["userId"] + "!" for one in page)
    for user in bound.kind.hidden_users:
        found = await state_of(bank, f"/sessions/s-{user}")
        assert found == {"user:of": user, "app:tone": "warm"}


async def test_what_all_sessions_share_is_read_but_not_changed(
    bound: Bound, bank: httpx.AsyncClient
) -> None:
    """One user must not write into every user's prompt."""
    if not bound.kind.users:
        pytest.skip("sees no session that it could write through")
    first = bound.kind.users[0]
    path, shared = f"/sessions/s-{first}", {"app:tone": "warm"}
    ok(await bank.patch(path, json={"sessionState": {"a": 1, **shared}}))
    for delta in ({"app:tone": "cold"}, {"app:new": 1}, {"app:tone": None}, {"app:new": None}):
        changed: Json = {"actions": {"stateDelta": {**delta, "user:a": 1}}}
        requests: dict[str, tuple[str, str, Json]] = {
            "actions.stateDelta": ("POST", f"{path}:appendEvent", event(**changed)),
            "events[0].actions.stateDelta": (
                "POST",
                f"{path}/events:batch",
                {"events": [event(**changed)]},
            ),
            "sessionState": (
                "POST",
                "/sessions?sessionId=new",
                {"userId": first, "sessionState": delta},
            ),
        }
        for field, (method, url, body) in requests.items():
            answer = await bound.client.request(method, url, json=body)
            assert denial(answer) == DENIED
            assert answer.json()["error"]["message"].startswith(f"{field}: ")
    update = await bound.client.patch(path, json={"sessionState": {"app:tone": "cold"}})
    assert denial(update) == DENIED
    assert await state_of(bank, path) == {"a": 1, **shared}
    assert await texts(bank, path) == [f"Said by {first}."]
    # What was read can be sent back.
    again = await bound.client.patch(path, json={"sessionState": {"a": 2, **shared}})
    assert ok(again)["sessionState"] == {"a": 2, **shared}


async def test_the_method_that_is_not_served_says_so_of_any_session(
    mine: httpx.AsyncClient,
) -> None:
    answers = [await mine.post(f"/sessions/{one}:compact", json={}) for one in ("s-42", "s-7", "n")]
    assert [answer.status_code for answer in answers] == [501] * 3


async def test_a_session_is_created_for_users_of_the_key_alone(
    bound: Bound, bank: httpx.AsyncClient
) -> None:
    for user in USERS:
        answer = await bound.client.post("/sessions", json={"userId": user})
        if user in bound.kind.users:
            assert ok(answer)["response"]["userId"] == user
            ok(await bound.client.get(path_of(answer.json()["name"])))
        else:
            assert refusal(answer) == GONE
            unknown = await bound.client.post("/sessions", json={"userId": "nobody"})
            assert answer.text == unknown.text
    assert len(await ids(bank)) == len(USERS) + len(bound.kind.users)


async def test_an_id_that_others_have_taken_says_nothing_but_that(mine: httpx.AsyncClient) -> None:
    body = {"userId": "42"}
    foreign = await mine.post("/sessions", params={"sessionId": "s-7"}, json=body)
    own = await mine.post("/sessions", params={"sessionId": "s-42"}, json=body)
    assert refusal(own) == (409, "ALREADY_EXISTS")
    assert_alike(foreign, own, "/s-7 ", "/s-42 ")
    # For a foreign user, not even that.
    for session_id in ("s-7", "free"):
        params = {"sessionId": session_id}
        answer = await mine.post("/sessions", params=params, json={"userId": "7"})
        assert refusal(answer) == GONE


async def test_the_operation_of_a_session_is_seen_with_it(
    bank: httpx.AsyncClient, mine: httpx.AsyncClient
) -> None:
    for user, is_seen in (("42", True), ("7", False)):
        session = await create_session(bank, userId=user, displayName="Secret")
        operations = ok(await bank.get("/operations"))["operations"]
        name = next(one["name"] for one in operations if session["name"] in str(one))
        answer = await mine.get(path_of(name))
        assert answer.status_code == (200 if is_seen else 404)
