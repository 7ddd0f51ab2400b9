"""The scopes that an engine's memories have, with the number of memories of each."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import text

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.kernel.ids import scope_hash
from app.memory.memories.store import listing
from app.platform.engines.services.engine_cache import EngineCache
from app.process.main import create_app
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY, START
from tests.support.bank import ENGINE_URL, Json, ok
from tests.support.bound import bound_client
from tests.support.cases import in_one_test
from tests.support.errors import NOT_FOUND, refusal, violations
from tests.support.keys import client_with, make_key
from tests.support.operations import create_memory, path_of

MINE, APP, THEIRS = {"user_id": "42"}, {"user_id": "42", "app": "x y"}, {"user_id": "7"}
_MANY = 1_001
_INSERT = """
insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                      memory_type, create_time, update_time)
select 1, 'many-' || n, 1, cast(:scope as jsonb), :hash, 'Fact ' || n, '[]', '{}',
       'NATURAL_LANGUAGE_COLLECTION', :now, :now
from generate_series(1, :count) as n
"""


async def _page(client: httpx.AsyncClient, **params: str | int) -> Json:
    return ok(await client.get("/memories:listScopes", params=params))


async def _counts(client: httpx.AsyncClient, **params: str | int) -> dict[str, int]:
    """Return the number of memories of each scope, by the scope as JSON."""
    page = await _page(client, **params)
    return {json.dumps(one["scope"]): one["memoryCount"] for one in page["scopes"]}


def _by_text(*scopes: tuple[dict[str, str], int]) -> dict[str, int]:
    return {json.dumps(dict(sorted(scope.items()))): count for scope, count in scopes}


async def _pages(client: httpx.AsyncClient, size: int) -> list[Json]:
    page = await _page(client, pageSize=size)
    pages = [page]
    while "nextPageToken" in page:
        page = await _page(client, pageSize=size, pageToken=page["nextPageToken"])
        pages.append(page)
    return pages


@pytest.fixture
async def bank(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """A client of a bank of three scopes."""
    for fact, scope in (("Tea.", MINE), ("Milk.", MINE), ("Plays.", APP), ("Oslo.", THEIRS)):
        await create_memory(client, fact, scope)
    return client


async def test_each_scope_is_listed_once_with_its_memories(bank: httpx.AsyncClient) -> None:
    page = await _page(bank)
    assert page.keys() == {"scopes"}
    assert page["scopes"] == [
        {"scope": scope, "memoryCount": count}
        for scope, count in sorted(
            [(MINE, 2), (APP, 1), (THEIRS, 1)], key=lambda one: scope_hash(one[0])
        )
    ]


async def test_no_scopes_are_an_empty_list(client: httpx.AsyncClient) -> None:
    assert await _page(client) == {"scopes": []}
    answer = await client.get(ENGINE_URL + "7/memories:listScopes")
    assert refusal(answer) == NOT_FOUND


async def test_what_has_gone_is_not_counted(bank: httpx.AsyncClient, clock: FixedClock) -> None:
    await create_memory(bank, "Soon gone.", MINE, ttl="60s")
    await create_memory(bank, "Soon gone.", {"user_id": "8"}, ttl="60s")
    assert (await _counts(bank))['{"user_id": "42"}'] == 3
    clock.advance(timedelta(seconds=60))
    left = _by_text((MINE, 2), (APP, 1), (THEIRS, 1))
    for shown in ("false", "true"):
        assert await _counts(bank, showDeleted=shown) == left


async def test_a_scope_of_deleted_memories_alone_is_listed_on_demand_while_they_last(
    bank: httpx.AsyncClient, clock: FixedClock
) -> None:
    memory = await create_memory(bank, "I am called Rex.", {"user_id": "8"})
    ok(await bank.delete(path_of(memory["name"])))
    left = _by_text((MINE, 2), (APP, 1), (THEIRS, 1))
    assert await _counts(bank) == left
    assert await _counts(bank, showDeleted="true") == {**left, '{"user_id": "8"}': 0}
    clock.advance(timedelta(hours=48))
    assert await _counts(bank, showDeleted="true") == left


async def test_no_more_are_counted_than_a_thousand(
    bank: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    for user, count in (("8", _MANY), ("9", _MANY - 1)):
        scope = {"user_id": user}
        values = {
            "scope": json.dumps(scope),
            "hash": scope_hash(scope),
            "now": clock.now(),
            "count": count,
        }
        statement = _INSERT.replace("many-", f"many-{user}-")
        async with database.transaction() as session:
            await session.execute(text(statement), values)
    found = {one["scope"]["user_id"]: one for one in (await _page(bank))["scopes"]}
    assert found["8"] == {"scope": {"user_id": "8"}, "memoryCount": 1_000, "isCapped": True}
    assert found["9"] == {"scope": {"user_id": "9"}, "memoryCount": 1_000}


@in_one_test("near", range(1, 7))
async def test_a_pass_that_ends_before_its_scope_counts_nothing_wrong(
    bank: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, near: int
) -> None:
    monkeypatch.setattr(listing, "NEAR_MEMORIES", near)
    monkeypatch.setattr(listing, "NEAR_PAGES", range(1, 102))
    every = _by_text((MINE, 2), (APP, 1), (THEIRS, 1))
    for size in range(1, 5):
        pages = await _pages(bank, size)
        scopes = [one for page in pages for one in page["scopes"]]
        assert {json.dumps(one["scope"]): one["memoryCount"] for one in scopes} == every
        assert len(scopes) == len(every)
        assert len(pages) == -(-len(every) // size)


async def test_scopes_are_filtered(bank: httpx.AsyncClient) -> None:
    every = [MINE, APP, THEIRS]
    for filter_text, expected in (
        ("", every),
        ('scope.user_id="42"', [MINE, APP]),
        ("scope.user_id!=42", [THEIRS]),
        ('scope.user_id=~"4.*"', [MINE, APP]),
        ('scope.app!~"x.*"', [MINE, THEIRS]),
        ('scope.app:* OR scope.user_id="7"', [APP, THEIRS]),
        ("scope:app", [APP]),
        (r'scope="{\"user_id\": \"42\"}"', [MINE]),
        ("NOT scope.app:*", [MINE, THEIRS]),
        ('scope.app="x"', []),
    ):
        found = {**_by_text(*((scope, 0) for scope in expected))}
        assert (filter_text, (await _counts(bank, filter=filter_text)).keys()) == (
            filter_text,
            found.keys(),
        )


@in_one_test(
    ("params", "field"),
    [
        ({"filter": 'fact="Tea."'}, "filter"),
        ({"filter": "memory_count>1"}, "filter"),
        ({"showDeleted": "perhaps"}, "showDeleted"),
        ({"orderBy": "scope"}, "orderBy"),
        ({"pageSize": "-1"}, "pageSize"),
        ({"pageToken": "x"}, "pageToken"),
    ],
)
async def test_what_scopes_cannot_be_asked_is_refused_by_name(
    client: httpx.AsyncClient, params: dict[str, str], field: str
) -> None:
    answer = await client.get("/memories:listScopes", params=params)
    assert answer.status_code == 400
    assert list(violations(answer)) == [field]


async def test_pages_have_each_scope_once_while_scopes_appear(client: httpx.AsyncClient) -> None:
    async def add(user: int) -> None:
        await create_memory(client, "I like tea.", {"user_id": str(user)})

    for user in range(7):
        await add(user)
    before = {f'{{"user_id": "{user}"}}' for user in range(7)}
    found: list[str] = []
    filter_text = 'scope.user_id=~"[0-9]+"'
    token, added = "", 7
    while True:
        page = await _page(client, pageSize=2, pageToken=token, filter=filter_text)
        assert len(page["scopes"]) <= 2
        found += [json.dumps(one["scope"]) for one in page["scopes"]]
        token = page.get("nextPageToken", "")
        if not token:
            break
        await add(added)
        added += 1
    assert len(found) == len(set(found))
    assert before <= set(found)
    first = await _page(client, pageSize=2, filter=filter_text)
    answer = await client.get(
        "/memories:listScopes", params={"pageToken": first["nextPageToken"], "showDeleted": "true"}
    )
    assert refusal(answer) == (400, "INVALID_ARGUMENT", Reason.PAGE_TOKEN_INVALID)


async def test_a_bound_key_lists_its_own_scopes_alone(
    app: FastAPI, bank: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    gone = await create_memory(bank, "I am called Rex.", {"user_id": "8"})
    ok(await bank.delete(path_of(gone["name"])))
    async with await bound_client(app, database, clock, {"user_id": ["42"]}) as bound:
        assert await _counts(bound) == _by_text((MINE, 2), (APP, 1))
        assert await _counts(bound, showDeleted="true") == _by_text((MINE, 2), (APP, 1))
        assert await _counts(bound, filter='scope.user_id="7"') == {}


@pytest.mark.usefixtures("bank")
async def test_deleted_ones_are_history(
    app: FastAPI, database: Database, clock: FixedClock
) -> None:
    secret = await make_key(database, clock.now(), permissions=["memories.list"])
    async with client_with(app, secret) as lister:
        assert len(await _counts(lister)) == 3
        answer = await lister.get("/memories:listScopes", params={"showDeleted": "true"})
    assert refusal(answer) == (403, "PERMISSION_DENIED", Reason.PERMISSION_MISSING)
    assert "revisions.list" in answer.json()["error"]["message"]


async def test_a_list_that_takes_too_long_is_refused(
    resources: Resources, database: Database, data_dir: Path
) -> None:
    """A filter and the conditions of a key both leave scopes out that have to be looked at."""
    settings = Settings(data_dir=data_dir, admin_key=ADMIN_KEY, filter_timeout_seconds=0.05)
    impatient = create_app(replace(resources, settings=settings))
    bound = await make_key(database, START, "viewer", scope_conditions={"user_id": ["42"]})
    async with client_with(impatient, ADMIN_KEY) as client:
        # A process that knows the engine first tries the hot statement.
        ok(await client.get("/memories:listScopes"))
    async with database.engine.begin() as holder:
        # The lists wait for the table, however few rows it has.
        await holder.execute(text("lock table memories in access exclusive mode"))
        filtered = {"filter": "scope.user_id=42"}
        for secret, params in ((ADMIN_KEY, filtered), (ADMIN_KEY, {}), (bound, {})):
            async with client_with(impatient, secret) as client:
                answer = await client.get("/memories:listScopes", params=params)
                assert "takes too long" in violations(answer)["filter"]


async def test_a_process_that_knows_the_engine_pages_as_one_that_does_not(
    bank: httpx.AsyncClient, resources: Resources
) -> None:
    first = await _pages(bank, 1)
    EngineCache.of(resources).forget(1)
    assert await _pages(bank, 1) == first == await _pages(bank, 1)
    assert [len(page["scopes"]) for page in first] == [1, 1, 1]


async def test_the_scopes_of_an_engine_that_another_process_deleted_are_not_listed(
    bank: httpx.AsyncClient, database: Database
) -> None:
    assert len(await _counts(bank)) == 3
    async with database.transaction() as session:
        await session.execute(text("update engines set delete_time = now(), version = version + 1"))
    assert refusal(await bank.get("/memories:listScopes")) == NOT_FOUND
