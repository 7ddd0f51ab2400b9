"""Creating sessions: wire specification, section 13.1."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.kernel.clock import FixedClock
from app.platform.sessions.schemas.sessions import MAX_STATE_BYTES
from app.settings.settings import Settings
from tests.support.bank import ENGINE, ENGINE_URL, GONE, TAKEN, after, field_of, id_of, ok, refusal
from tests.support.cases import in_one_test
from tests.support.operations import path_of
from tests.support.sessions import create_session, event, ids

_STATE: dict[str, Any] = {"a_b": 1, "cD": [1, {"x": None, "y_z": -1.5}], "user:k": None, "": ""}


async def test_a_session_has_all_that_it_was_given(
    client: httpx.AsyncClient, settings: Settings, clock: FixedClock
) -> None:
    fields = {"displayName": "Trip", "labels": {"k_1": "v-2"}, "sessionState": _STATE}
    answer = ok(await client.post("/sessions", json={"userId": "u", **fields}))
    name = answer["response"]["name"]
    assert name.startswith(f"{ENGINE}/sessions/")
    assert len(id_of(answer["response"])) == 18
    assert answer["name"].startswith(f"{ENGINE}/operations/")
    assert answer["done"] is True
    assert answer["metadata"]["@type"].endswith(".CreateSessionOperationMetadata")
    session = {
        "name": name,
        "userId": "u",
        **fields,
        "createTime": "2026-01-15T12:00:00Z",
        "updateTime": "2026-01-15T12:00:00Z",
        "expireTime": after(clock, seconds=settings.session_ttl_seconds),
        "etag": "1",
    }
    assert ok(await client.get(path_of(name))) == session
    type_url = "type.googleapis.com/google.cloud.aiplatform.v1beta1.Session"
    assert answer["response"] == {"@type": type_url, **session}


async def test_both_spellings_are_read(client: httpx.AsyncClient) -> None:
    body = {"user_id": "u", "display_name": "d", "session_state": {"a_b": {"c_d": 1}}}
    session = ok(await client.post("/sessions", json=body, params={"session_id": "s"}))["response"]
    assert (session["userId"], session["displayName"]) == ("u", "d")
    assert session["sessionState"] == {"a_b": {"c_d": 1}}
    assert id_of(session) == "s"


async def test_a_session_always_has_a_state(client: httpx.AsyncClient) -> None:
    assert (await create_session(client))["sessionState"] == {}


@in_one_test("chosen", ["sess-1", "My_Session", "_", "-x-", "9", "A" * 63])
async def test_an_id_may_be_what_agent_frameworks_choose(
    client: httpx.AsyncClient, chosen: str
) -> None:
    session = await create_session(client, chosen)
    assert session["name"] == f"{ENGINE}/sessions/{chosen}"
    assert ok(await client.get(f"/sessions/{chosen}")) == session


@in_one_test("chosen", ["", "a" * 64, "a b", "a.b", "a/b", "é", "a:b", "a\n"])
async def test_other_ids_are_refused(client: httpx.AsyncClient, chosen: str) -> None:
    params = {"sessionId": chosen}
    answer = await client.post("/sessions", params=params, json={"userId": "u"})
    assert field_of(answer) == "sessionId"


async def test_a_taken_id_is_refused_until_its_session_is_gone(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    first = await create_session(client, "s", ttl="60s", sessionState={"k": 1})
    request: dict[str, Any] = {"params": {"sessionId": "s"}, "json": {"userId": "7"}}
    assert refusal(await client.post("/sessions", **request)) == TAKEN
    assert ok(await client.get("/sessions/s")) == first
    clock.advance(timedelta(minutes=1))
    ok(await client.post("/sessions", **request))
    assert ok(await client.get("/sessions/s"))["userId"] == "7"
    ok(await client.delete("/sessions/s"))
    ok(await client.post("/sessions", **request))


async def test_the_same_id_is_free_in_another_engine(client: httpx.AsyncClient) -> None:
    await create_session(client, "s")
    other = ok(await client.post(f"{ENGINE_URL.rpartition('/')[0]}", json={}))["response"]["name"]
    url = f"http://test/v1beta1/{other}/sessions"
    ok(await client.post(url, params={"sessionId": "s"}, json={"userId": "7"}))
    assert ok(await client.get("/sessions/s"))["userId"] == "42"
    assert ok(await client.get(f"{url}/s"))["userId"] == "7"


@in_one_test(
    ("field", "body"),
    [
        ("userId", {}),
        ("userId", {"userId": ""}),
        ("userId", {"userId": "u" * 513}),
        ("userId", {"userId": 42}),
        ("displayName", {"userId": "u", "displayName": "d" * 5000}),
        ("sessionState", {"userId": "u", "sessionState": [1]}),
        ("sessionState", {"userId": "u", "sessionState": {"k": "v" * MAX_STATE_BYTES}}),
        ("labels", {"userId": "u", "labels": {"K": "v"}}),
        ("labels", {"userId": "u", "labels": {"k": "V"}}),
        ("labels", {"userId": "u", "labels": {"k": "a b"}}),
        ("labels", {"userId": "u", "labels": {"k": "v" * 65}}),
        ("ttl", {"userId": "u", "ttl": "0s"}),
        ("ttl", {"userId": "u", "ttl": "300000000000s"}),
        ("expireTime", {"userId": "u", "expireTime": "2026-01-15T12:00:00Z"}),
        ("body", {"userId": "u", "ttl": "60s", "expireTime": "2030-01-01T00:00:00Z"}),
        ("state", {"userId": "u", "state": {}}),
    ],
)
async def test_what_is_wrong_is_named(
    client: httpx.AsyncClient, field: str, body: dict[str, Any]
) -> None:
    assert field_of(await client.post("/sessions", json=body)) == field
    assert await ids(client) == []


async def test_a_state_is_bounded_as_it_is_answered(client: httpx.AsyncClient) -> None:
    """A number of five characters may be stored with three hundred."""
    state = f'{{"userId":"u","sessionState":{{"a":[{",".join(["1e300"] * 4_000)}]}}}}'
    assert len(state) < MAX_STATE_BYTES / 25
    json = {"content-type": "application/json"}
    for answer in (
        await client.post("/sessions", content=state, headers=json),
        await client.patch((await _path(client)), content=state, headers=json),
    ):
        assert field_of(answer) == "sessionState"
        assert str(MAX_STATE_BYTES) in answer.json()["error"]["message"]
    (left,) = ok(await client.get("/sessions"))["sessions"]
    assert left["sessionState"] == {}


async def _path(client: httpx.AsyncClient) -> str:
    """Create the session of the user u; return its path."""
    return path_of((await create_session(client, userId="u"))["name"])


async def test_labels_may_be_of_any_script(client: httpx.AsyncClient) -> None:
    labels = {"größe": "東京", "k_-1": ""}
    assert (await create_session(client, labels=labels))["labels"] == labels


async def test_fields_that_only_answers_have_are_ignored(client: httpx.AsyncClient) -> None:
    session = await create_session(client, name="n", createTime="x", update_time="x", etag="9")
    assert session["etag"] == "1"


async def test_a_life_is_given_by_ttl_or_by_its_end(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    session = await create_session(client, ttl="7200s")
    assert session["expireTime"] == after(clock, hours=2)
    session = await create_session(client, expireTime="2030-01-02T03:04:05+00:00")
    assert session["expireTime"] == "2030-01-02T03:04:05Z"


async def test_an_expired_session_is_gone(client: httpx.AsyncClient, clock: FixedClock) -> None:
    path = path_of((await create_session(client, ttl="60s"))["name"])
    clock.advance(timedelta(seconds=59))
    ok(await client.get(path))
    clock.advance(timedelta(seconds=1))
    body = {"author": "user", "invocationId": "i", "timestamp": "2026-01-15T12:00:00Z"}
    for answer in (
        await client.get(path),
        await client.patch(path, json={"displayName": "d"}),
        await client.delete(path),
        await client.post(f"{path}:appendEvent", json=body),
        await client.get(f"{path}/events"),
    ):
        assert refusal(answer) == GONE
    assert await ids(client) == []


async def test_the_operation_shows_the_session_as_it_is(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    params = {"sessionId": "s"}
    operation = ok(await client.post("/sessions", params=params, json={"userId": "u"}))
    path = path_of(operation["name"])
    ok(await client.patch("/sessions/s", json={"displayName": "d"}))
    # Clients may look for it under the session.
    under = path.replace("/operations", "/sessions/s/operations")
    for one in (path, under):
        assert ok(await client.get(one))["response"]["displayName"] == "d"
    ok(await client.delete("/sessions/s"))
    clock.advance(timedelta(seconds=1))
    await create_session(client, "s", displayName="another")
    response = ok(await client.get(path))["response"]
    assert response.keys() == {"@type", "name", "createTime"}


@pytest.mark.parametrize("engine", ["v1/memoryBanks/1", "v1beta1/reasoningEngines/1"])
async def test_sessions_are_served_under_every_prefix(
    client: httpx.AsyncClient, engine: str
) -> None:
    url = f"http://test/{engine}/sessions"
    created = ok(await client.post(url, params={"sessionId": "s"}, json={"userId": "42"}))
    assert created["response"]["name"] == f"{ENGINE}/sessions/s"
    ok(await client.post(f"{url}/s:appendEvent", json=event()))
    (found,) = ok(await client.get(f"{url}/s/events"))["sessionEvents"]
    assert found["name"].startswith(f"{ENGINE}/sessions/s/events/")
    ok(await client.patch(f"{url}/s", json={"displayName": "d"}))
    assert len(ok(await client.get(url))["sessions"]) == 1
    assert ok(await client.get(f"{url}/s"))["displayName"] == "d"
    ok(await client.delete(f"{url}/s"))


async def test_an_engine_that_is_not_there_has_no_sessions(client: httpx.AsyncClient) -> None:
    url = ENGINE_URL.removesuffix("/1") + "/2/sessions"
    assert refusal(await client.post(url, json={"userId": "u"})) == GONE
    assert refusal(await client.get(url)) == GONE
    assert refusal(await client.get(f"{url}/s")) == GONE
