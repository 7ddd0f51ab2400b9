"""Request ids of memories; `tests/api/operations/test_requests_once.py` has all methods."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.memory.memories.store.tables import MemoryRow, RevisionRow
from app.platform.operations.services.runner import Runner
from app.platform.operations.store.tables import OperationRow
from tests.support.bank import ENGINE_URL, TAKEN, Json, count, field_of, history, id_of, ok, refusal
from tests.support.operations import USER, create_memory, path_of
from tests.support.sessions import new_path

Request = dict[str, Any]
METHODS = [
    "create",
    "update",
    "delete",
    "erase",
    "undelete",
    "rollback",
    "purge",
    "generate",
    "batch create",
    "undo",
    "scan",
    "create session",
    "delete session",
]
ONCE = {"Idempotency-Key": "once"}


async def _request(client: httpx.AsyncClient, method: str) -> Request:
    """Set the stage for a method, and return its request, ready for `client.request`."""
    path = path_of((await create_memory(client, "x"))["name"])
    ok(await client.patch(path, json={"fact": "y"}))
    first = id_of((await history(client, path))[-1])
    facts = {"directMemories": [{"fact": "I like tea."}]}
    requests: dict[str, Request] = {
        "create": {"method": "POST", "url": "/memories", "json": {"fact": "n", "scope": USER}},
        "update": {"method": "PATCH", "url": path, "json": {"fact": "z"}},
        "delete": {"method": "DELETE", "url": path},
        "erase": {"method": "DELETE", "url": path, "params": {"permanent": True}},
        "rollback": {
            "method": "POST",
            "url": f"{path}:rollback",
            "json": {"targetRevisionId": first},
        },
        "purge": {
            "method": "POST",
            "url": "/memories:purge",
            "json": {"filter": 'fact="y"', "force": True},
        },
        "generate": {
            "method": "POST",
            "url": "/memories:generate",
            "json": {"scope": USER, "directMemoriesSource": facts},
        },
        "batch create": {
            "method": "POST",
            "url": "/memories:batchCreate",
            "json": {"requests": [{"memory": {"fact": "n", "scope": USER}}]},
        },
        "scan": {
            "method": "POST",
            "url": f"{ENGINE_URL}:scanPrivacy",
            "json": {"action": "REPORT", "kinds": ["EMAIL"]},
        },
        "create session": {"method": "POST", "url": "/sessions", "json": {"userId": "42"}},
        "undelete": {"method": "POST", "url": f"{path}:undelete", "json": {}},
    }
    if method == "undelete":
        ok(await client.delete(path))
    if method == "delete session":
        return {"method": "DELETE", "url": await new_path(client)}
    if method == "undo":
        purged = ok(await client.post("/memories:purge", json=requests["purge"]["json"]))
        return {"method": "POST", "url": f"{path_of(purged['name'])}:undo", "json": {}}
    return requests[method]


def _other(request: Request) -> Request:
    """Return a like request that asks for something else."""
    if request["method"] == "DELETE":
        return {**request, "headers": {"If-Match": "2", **request.get("headers", {})}}
    changes: dict[str, Json] = {
        "/memories": {"fact": "other"},
        "/memories:purge": {"force": False},
        "/memories:generate": {"disableConsolidation": True},
        "/memories:batchCreate": {"requests": [{"memory": {"fact": "other", "scope": USER}}]},
        "/sessions": {"userId": "43"},
        f"{ENGINE_URL}:scanPrivacy": {"kinds": ["PHONE"]},
    }
    change = changes.get(request["url"], {"fact": "other"})
    if request["url"].endswith(":rollback"):
        change = {"targetRevisionId": "1"}
    if request["url"].endswith((":undo", ":undelete")):
        change = {"revisionLabels": {"run": "7"}}
    return {**request, "json": {**request["json"], **change}}


@pytest.mark.parametrize("method", METHODS)
async def test_another_request_with_the_same_id_is_409(
    client: httpx.AsyncClient, database: Database, method: str
) -> None:
    request = {**await _request(client, method), "headers": ONCE}
    ok(await client.request(**request))
    rows = await count(database, MemoryRow, RevisionRow, OperationRow)
    answer = await client.request(**_other(request))
    assert refusal(answer) == TAKEN
    assert answer.json()["error"]["details"][0]["reason"] == "REQUEST_ID_REUSED"
    assert await count(database, MemoryRow, RevisionRow, OperationRow) == rows


@pytest.mark.parametrize("method", ["create", "purge", "generate"])
async def test_after_24_hours_the_id_is_forgotten(
    client: httpx.AsyncClient, clock: FixedClock, method: str
) -> None:
    request = {**await _request(client, method), "headers": ONCE}
    first = ok(await client.request(**request))
    clock.advance(timedelta(hours=24))
    assert ok(await client.request(**request))["name"] != first["name"]


async def test_the_answer_stays_the_first_after_later_changes(client: httpx.AsyncClient) -> None:
    body = {"fact": "x", "scope": USER}
    first = ok(await client.post("/memories", json=body, headers=ONCE))
    path = path_of(first["response"]["name"])
    second = ok(await client.patch(path, json={"fact": "y"}, headers={"Idempotency-Key": "2"}))
    ok(await client.patch(path, json={"fact": "z"}))
    ok(await client.delete(path))
    assert ok(await client.post("/memories", json=body, headers=ONCE)) == first
    again = await client.patch(path, json={"fact": "y"}, headers={"Idempotency-Key": "2"})
    assert ok(again) == second


async def test_a_retry_is_answered_though_its_moments_have_passed(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    times = {
        "expireTime": "2026-01-15T13:00:00Z",
        "revisionExpireTime": "2026-01-15T12:30:00Z",
    }
    body = {"fact": "x", "scope": USER, **times}
    first = ok(await client.post("/memories", json=body, headers=ONCE))
    path = path_of(first["response"]["name"])
    change = {"fact": "y", **times}
    second = ok(await client.patch(path, json=change, headers={"Idempotency-Key": "2"}))
    clock.advance(timedelta(hours=2))
    assert ok(await client.post("/memories", json=body, headers=ONCE))["name"] == first["name"]
    again = await client.patch(path, json=change, headers={"Idempotency-Key": "2"})
    assert ok(again)["name"] == second["name"]


async def test_a_rollback_is_answered_again_when_its_target_is_gone(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path = path_of((await create_memory(client, "x", revisionTtl="60s"))["name"])
    ok(await client.patch(path, json={"fact": "y"}))
    body = {"targetRevisionId": id_of((await history(client, path))[-1])}
    first = ok(await client.post(f"{path}:rollback", json=body, headers=ONCE))
    clock.advance(timedelta(minutes=5))
    assert ok(await client.post(f"{path}:rollback", json=body, headers=ONCE)) == first
    ok(await client.delete(path, params={"permanent": True}))
    again = ok(await client.post(f"{path}:rollback", json=body, headers=ONCE))
    assert again["name"] == first["name"]


async def test_a_finished_generation_is_what_a_retry_gets(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    request = {**await _request(client, "generate"), "headers": ONCE}
    first = ok(await client.request(**request))
    assert "response" not in first
    await runner.run_pending()
    again = ok(await client.request(**request))
    assert (again["name"], again["done"]) == (first["name"], True)
    assert [one["action"] for one in again["response"]["generatedMemories"]] == ["CREATED"]


async def test_a_failed_request_does_not_use_its_id_up(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    stale = {**ONCE, "If-Match": "9"}
    assert refusal(await client.patch(path, json={"fact": "y"}, headers=stale))[0] == 409
    assert ok(await client.patch(path, json={"fact": "z"}, headers=ONCE))["done"]


async def test_ids_differ_by_caller_path_and_form(client: httpx.AsyncClient) -> None:
    body = {"fact": "x", "scope": USER}
    for params in ({"requestId": "a" * 129}, {"requestId": "other"}):
        answer = await client.post("/memories", params=params, json=body, headers=ONCE)
        assert field_of(answer) == "requestId"
    ok(await client.post("/memories", json=body, headers=ONCE))
    chosen = await client.post("/memories", params={"memoryId": "m"}, json=body, headers=ONCE)
    assert refusal(chosen) == TAKEN
    # Either spelling of a body is the same request.
    spelt = {"fact": "s", "scope": USER, "displayName": "d"}
    first = ok(await client.post("/memories", json=spelt, params={"request_id": "s"}))
    spelt["display_name"] = spelt.pop("displayName")
    assert ok(await client.post("/memories", json=spelt, params={"requestId": "s"})) == first


async def test_an_etag_that_was_right_the_first_time_is_not_stale_for_the_retry(
    client: httpx.AsyncClient,
) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    headers = {**ONCE, "If-Match": "1"}
    first = ok(await client.patch(path, json={"fact": "y"}, headers=headers))
    assert ok(await client.patch(path, json={"fact": "y"}, headers=headers)) == first
