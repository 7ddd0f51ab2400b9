"""The log as administrators read it: whose it is, pages, filters."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.audit import ALL_URL, all_events, events, exported, listed
from tests.support.bank import ENGINE, ENGINE_URL, Json, after, field_of, id_of, ok, refusal
from tests.support.cases import in_one_test
from tests.support.engines import COLLECTION, create_engine
from tests.support.keys import client_with, make_key
from tests.support.operations import USER, create_memory

_BOTH = (f"{ENGINE_URL}/auditEvents", ALL_URL)


async def _read_by_pages(client: httpx.AsyncClient, url: str, **params: str) -> list[Json]:
    found: list[Json] = []
    token = ""
    while True:
        query = {"pageSize": "3", "pageToken": token, **params}
        page = ok(await client.get(url, params=query))
        found += page["auditEvents"]
        token = page.get("nextPageToken", "")
        if not token:
            return found
        assert len(page["auditEvents"]) == 3


@pytest.mark.parametrize("url", _BOTH)
async def test_pages_go_from_the_newest_to_the_oldest(
    client: httpx.AsyncClient, clock: FixedClock, url: str
) -> None:
    names = []
    for number in range(8):
        # Some of one moment, whose order is that of their ids.
        clock.advance(timedelta(seconds=number // 3))
        names.append((await create_memory(client, f"Fact {number}."))["name"])
    found = await _read_by_pages(client, url)
    assert [one["resource"] for one in found] == names[::-1]
    assert len({one["name"] for one in found}) == 8
    assert found == await listed(client, url)


@pytest.mark.parametrize("url", _BOTH)
async def test_a_token_is_good_for_its_query_alone(client: httpx.AsyncClient, url: str) -> None:
    for number in range(3):
        await create_memory(client, f"Fact {number}.")
    token = ok(await client.get(url, params={"pageSize": 1}))["nextPageToken"]
    other = next(one for one in _BOTH if one != url)
    for asked, params in ((other, {}), (url, {"filter": "result=OK"})):
        answer = await client.get(asked, params={"pageToken": token, **params})
        assert refusal(answer) == (400, "INVALID_ARGUMENT")
        assert field_of(answer) == "pageToken"


async def test_an_engine_s_log_has_nothing_of_another_engine(client: httpx.AsyncClient) -> None:
    other = await create_engine(client)
    await create_memory(client, "I like tea.")
    theirs = f"{COLLECTION}/{id_of(other)}"
    ok(await client.post(f"{theirs}/memories", json={"fact": "Canary.", "scope": USER}))
    mine = await events(client)
    assert [one["method"] for one in mine] == ["createMemory"]
    assert id_of(other) not in str(mine)
    assert len(await listed(client, f"{theirs}/auditEvents")) == 2
    assert len(await all_events(client)) == 3
    assert len(await all_events(client, f"engine={id_of(other)}")) == 2
    assert await all_events(client, "engine=1") == mine
    assert len(await all_events(client, "engine!=1")) == 2


@pytest.mark.parametrize("action", ["", ":export"])
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_the_service_s_log_has_the_paths_of_both_versions(
    client: httpx.AsyncClient, version: str, action: str
) -> None:
    await create_memory(client, "I like tea.")
    answer = await client.get(f"http://test/{version}/auditEvents{action}")
    assert answer.status_code == 200
    assert "createMemory" in answer.text


@in_one_test(
    ("bound", "own", "all_of_them"),
    [
        ({}, 200, 200),
        ({"engines": ["1"]}, 200, 403),
        ({"projects": ["default"]}, 200, 403),
        ({"engines": ["7"]}, 404, 403),
        ({"scope_conditions": {"user_id": ["42"]}}, 403, 403),
    ],
)
async def test_a_key_reads_the_log_of_all_that_it_reaches_whole(
    app: FastAPI,
    resources: Resources,
    bound: dict[str, Any],
    own: int,
    all_of_them: int,
) -> None:
    secret = await make_key(resources.db, resources.clock.now(), "admin", **bound)
    async with client_with(app, secret) as admin:
        for action in ("", ":export"):
            assert (await admin.get(f"/auditEvents{action}")).status_code == own
            assert (await admin.get(ALL_URL + action)).status_code == all_of_them


@pytest.mark.parametrize("role", ["viewer", "user", "editor"])
async def test_the_log_is_for_administrators(
    app: FastAPI, database: Database, clock: FixedClock, role: str
) -> None:
    async with client_with(app, await make_key(database, clock.now(), role)) as other:
        for url in _BOTH:
            assert refusal(await other.get(url)) == (403, "PERMISSION_DENIED")
            assert refusal(await other.get(f"{url}:export")) == (403, "PERMISSION_DENIED")


async def test_of_a_deleted_engine_the_service_s_log_still_tells(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    name = (await create_engine(client))["name"]
    ok(await client.delete(f"http://test/v1/{name}"))
    for _ in ("hidden", "removed"):
        for action in ("", ":export"):
            answer = await client.get(f"http://test/v1/{name}/auditEvents{action}")
            assert refusal(answer) == (404, "NOT_FOUND")
        await runner.run_pending()
    found = await all_events(client, f"engine={id_of({'name': name})}")
    assert [one["method"] for one in found] == [
        "engines.delete",
        "deleteReasoningEngine",
        "createReasoningEngine",
    ]
    assert {one["name"].partition("/auditEvents/")[0] for one in found} == {name}


async def test_an_engine_that_never_was_has_no_log(client: httpx.AsyncClient) -> None:
    answer = await client.get("http://test/v1/reasoningEngines/7/auditEvents")
    assert refusal(answer) == (404, "NOT_FOUND")


async def test_a_filter_finds_by_every_field(client: httpx.AsyncClient, clock: FixedClock) -> None:
    ok(await client.post("/memories?memoryId=m", json={"fact": "I like tea.", "scope": USER}))
    clock.advance(timedelta(hours=1))
    answer = await client.patch("/memories/m", json={"fact": "x", "etag": "7"})
    assert answer.status_code == 409
    second, first = await events(client)
    request_id = answer.headers["x-request-id"]
    for url in _BOTH:
        for text, expected in {
            f"caller={first['caller']}": [second, first],
            "caller=nobody": [],
            "method=updateMemory": [second],
            'method=~"create.*"': [first],
            f'resource="{ENGINE}/memories/m"': [second, first],
            'resource:"memories/m"': [second, first],
            f'operation="{first["operation"]}"': [first],
            "operation:*": [first],
            "result=OK": [first],
            "result!=OK": [second],
            "reason=ETAG_STALE": [second],
            "reason!=ETAG_STALE": [first],
            'address="127.0.0.1"': [second, first],
            'address!="127.0.0.1"': [],
            f"requestId={request_id}": [second],
            f"request_id={request_id}": [second],
            f'create_time>"{first["createTime"]}"': [second],
            f'createTime<="{first["createTime"]}"': [first],
            f'create_time>"{after(clock)}"': [],
            "method=createMemory OR result=ABORTED": [second, first],
            "method=createMemory AND result=ABORTED": [],
            "NOT method=createMemory": [second],
        }.items():
            assert await listed(client, url, text) == expected, text
            assert await exported(client, url, filter=text) == expected[::-1], text


@in_one_test("url", _BOTH)
@in_one_test(
    "text",
    ["fact=x", "result=FINE", "reason=NONE", "create_time=now", "method=", 'method=~"("'],
)
async def test_a_filter_that_cannot_be_read_is_refused(
    client: httpx.AsyncClient, url: str, text: str
) -> None:
    for action in ("", ":export"):
        answer = await client.get(url + action, params={"filter": text})
        assert field_of(answer) == "filter"


@pytest.mark.parametrize("text", ["engine=x", "engine=-1", "engine=9223372036854775808"])
async def test_engines_are_named_by_number_where_there_are_several(
    client: httpx.AsyncClient, text: str
) -> None:
    for url in _BOTH:
        assert field_of(await client.get(url, params={"filter": text})) == "filter"
    assert await all_events(client, "engine=9223372036854775807") == []
