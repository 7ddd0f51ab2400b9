"""Revisions over all memories: what their filters find, what they refuse, and their order."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from string import Template

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import text as sql

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.kernel.paging import encode_token
from app.kernel.wire.scalars import parse_timestamp
from app.platform.operations.services.runner import Runner
from app.process.main import create_app
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY, START
from tests.support.bank import ENGINE, Json, history, id_of, ok, roll_back
from tests.support.cases import in_one_test
from tests.support.errors import refusal, violations
from tests.support.generation import given, run
from tests.support.keys import client_with, make_key
from tests.support.keys import id_of as key_of
from tests.support.operations import create_memory, path_of

ALL = "/memories/-"
OTHER = {"user_id": "7", "app": "x"}
BAD_FILTER = (400, "INVALID_ARGUMENT", Reason.FILTER_INVALID)
BAD_TOKEN = (400, "INVALID_ARGUMENT", Reason.PAGE_TOKEN_INVALID)


@pytest.fixture
async def names(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock, runner: Runner
) -> dict[str, str]:
    """Revisions of every kind, a minute apart; the names that a filter may hold, by word.

    Their facts, oldest first: tea, coffee, green, none (a deletion), tea again, a generated fact.
    """
    secret = await make_key(database, clock.now(), "editor")
    tea = await create_memory(client, "tea", revisionLabels={"source": "321", "run": "1"})
    async with client_with(app, secret) as editor:
        clock.advance(timedelta(minutes=1))
        coffee = await create_memory(editor, "coffee", OTHER, revisionLabels={"source": "9"})
        clock.advance(timedelta(minutes=1))
        body = {"fact": "green", "revisionLabels": {"source": "321"}}
        patched = ok(await editor.patch(path_of(tea["name"]), json=body))
        clock.advance(timedelta(minutes=1))
        deleted = ok(await editor.delete(path_of(coffee["name"])))
    clock.advance(timedelta(minutes=1))
    (*_, first) = await history(client, path_of(tea["name"]))
    ok(await roll_back(client, path_of(tea["name"]), id_of(first)))
    clock.advance(timedelta(minutes=1))
    await run(client, runner, given("I like juice."))
    return {
        "editor": key_of(secret),
        "admin": str(first["caller"]),
        "tea": id_of(tea),
        "coffee": coffee["name"],
        "patched": id_of(patched),
        "patched_name": patched["name"],
        "deleted_name": deleted["name"],
        "scope": r'"{\"user_id\": \"42\"}"',
    }


_EVERY = ["juice", "tea", "", "green", "coffee", "tea"]


@in_one_test(
    ("text", "found"),
    [
        ("", _EVERY),
        ("action=CREATED", ["juice", "coffee", "tea"]),
        ('action:"UPDATED"', ["green"]),
        ("action=DELETED", [""]),
        ("action=ROLLED_BACK", ["tea"]),
        ("action=REDACTED", []),
        ("action!=CREATED", ["tea", "", "green"]),
        ("author:builtin-rules", ["juice"]),
        ("author:*", ["juice"]),
        ('author=~"builtin-rules/[0-9]+"', ["juice"]),
        ('author!~"builtin-rules/.*"', _EVERY[1:]),
        ('author="nobody"', []),
        ('author!="nobody"', _EVERY),
        ('caller="$editor"', ["", "green", "coffee"]),
        ('caller!="$editor"', ["juice", "tea", "tea"]),
        ("caller:$editor", ["", "green", "coffee"]),
        ("caller:*", _EVERY),
        ('caller=~"$editor|x"', ["", "green", "coffee"]),
        ('caller!~"$editor"', ["juice", "tea", "tea"]),
        ('memory="$tea"', ["tea", "green", "tea"]),
        ('memory!="$tea"', ["juice", "", "coffee"]),
        ('memory="$coffee"', ["", "coffee"]),
        ('memory="reasoningEngines/1/memories/$tea"', ["tea", "green", "tea"]),
        ('memory="404"', []),
        ('operation="$patched"', ["green"]),
        ('operation="$patched_name"', ["green"]),
        ('operation="$deleted_name"', [""]),
        ('operation!="$patched"', ["juice", "tea", "", "coffee", "tea"]),
        ("operation:*", _EVERY),
        ("NOT operation:*", []),
        ('operation="404"', []),
        ('create_time="2026-01-15T12:02:00Z"', ["green"]),
        ('create_time!="2026-01-15T12:02:00Z"', ["juice", "tea", "", "coffee", "tea"]),
        ('create_time<"2026-01-15T12:02:00Z"', ["coffee", "tea"]),
        ('create_time<="2026-01-15T12:02:00Z"', ["green", "coffee", "tea"]),
        ('createTime>"2026-01-15T12:02:00Z"', ["juice", "tea", ""]),
        ('createTime>="2026-01-15T12:02:00Z"', ["juice", "tea", "", "green"]),
        ("scope=$scope", ["juice", "tea", "green", "tea"]),
        ("scope!=$scope", ["", "coffee"]),
        ("scope:app", ["", "coffee"]),
        ("scope.app:*", ["", "coffee"]),
        ("scope.user_id=7", ["", "coffee"]),
        ('scope."user_id":"42"', ["juice", "tea", "green", "tea"]),
        ("scope.app!=x", ["juice", "tea", "green", "tea"]),
        ('scope.user_id=~"[0-9]"', ["", "coffee"]),
        ('scope.user_id!~"[0-9]"', ["juice", "tea", "green", "tea"]),
        ("labels.source=321", ["green", "tea"]),
        ("labels:run", ["tea"]),
        ("labels.source=321 AND action=CREATED", ["tea"]),
        ("labels.source=9 OR scope.user_id=42 AND action=UPDATED", ["green"]),
        ("labels.source=9 OR action=UPDATED", ["green", "coffee"]),
        ("NOT labels.source=321 AND NOT scope.user_id=42", ["", "coffee"]),
        ('NOT (scope.user_id=7 OR create_time>"2026-01-15T12:02:00Z")', ["green", "tea"]),
    ],
)
async def test_a_filter_finds_revisions(
    client: httpx.AsyncClient, names: dict[str, str], text: str, found: list[str]
) -> None:
    filter_text = Template(text).substitute(names)
    revisions = await history(client, ALL, filter=filter_text)
    assert [one["fact"].removeprefix("I like ").rstrip(".") for one in revisions] == found
    # One memory's list takes the same filter, but for its own name.
    tea = f"/memories/{names['tea']}"
    of_tea = [one for one in revisions if f"{tea}/" in one["name"]]
    if not text.startswith("memory"):
        assert await history(client, tea, filter=filter_text) == of_tea


@in_one_test(
    ("text", "column"),
    [
        ('fact="x"', 1),
        ("version=1", 1),
        ("action>CREATED", 1),
        ("action:*", 8),
        ("action=MADE", 8),
        ("caller>x", 1),
        ("author<=x", 1),
        ('author=~"("', 9),
        ("memory:x", 1),
        ("memory:*", 1),
        ('memory=~"x"', 1),
        ('memory="reasoningEngines/2/memories/x"', 8),
        ('memory="memories/x"', 8),
        ('operation="reasoningEngines/2/operations/1"', 11),
        (f'operation="{ENGINE}/memories/x"', 11),
        ("operation:x", 11),
        ("operation>1", 1),
        ('create_time:"2026-01-01"', 1),
        ("create_time=yesterday", 13),
        ("scope>x", 1),
        ("scope=x", 7),
        ("labels=x", 1),
        ("labels.source<x", 1),
        ("action=CREATED AND fact:*", 20),
    ],
)
async def test_what_a_filter_does_not_take_is_refused_with_its_column(
    client: httpx.AsyncClient, text: str, column: int
) -> None:
    for method in ("", ":export"):
        answer = await client.get(f"{ALL}/revisions{method}", params={"filter": text})
        assert refusal(answer) == BAD_FILTER
        assert list(violations(answer)) == ["filter"]
        assert answer.json()["error"]["details"][0]["metadata"] == {"column": str(column)}


async def test_one_memory_s_list_does_not_filter_by_memory(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    answer = await client.get(f"{path}/revisions", params={"filter": "memory=x"})
    assert refusal(answer) == BAD_FILTER
    assert "labels, labels." in violations(answer)["filter"]


async def _fill(database: Database, count: int) -> None:
    """Store a memory with as many revisions, a second apart."""
    statement = """
        insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics,
                              metadata, memory_type, create_time, update_time)
        values (1, 'many', :count, '{"user_id": "42"}', 'x', 'x', '[]', '{}',
                'NATURAL_LANGUAGE_COLLECTION', :now, :now);
        insert into memory_revisions (engine_id, revision_id, memory_id, version, action, fact,
                                      topics, metadata, memory_type, labels, extracted_memories,
                                      create_time, expire_time, caller)
        select 1, n, 'many', n, 'UPDATED', n::text, '[]', '{}', 'NATURAL_LANGUAGE_COLLECTION', '{}',
               '[]', cast(:now as timestamptz) - (:count - n) * interval '1 second',
               cast(:now as timestamptz) + interval '1 year', repeat('x', 1000)
        from generate_series(1, :count) n
    """
    values = {"count": count, "now": START}
    async with database.transaction() as session:
        for one in statement.split(";"):
            needed = {name: values[name] for name in values if f":{name}" in one}
            await session.execute(sql(one), needed)


async def test_a_filter_without_an_index_ends_in_time(
    resources: Resources, database: Database, data_dir: Path
) -> None:
    """It says what helps, and with that it is answered."""
    await _fill(database, 20_000)
    settings = Settings(data_dir=data_dir, admin_key=ADMIN_KEY, filter_timeout_seconds=0.001)
    async with client_with(create_app(replace(resources, settings=settings)), ADMIN_KEY) as client:
        for method in ("", ":export"):
            params = {"filter": "caller:nobody"}
            answer = await client.get(f"{ALL}/revisions{method}", params=params)
            assert "add a comparison of create_time" in violations(answer)["filter"]


async def test_revisions_of_two_processes_have_one_order(
    client: httpx.AsyncClient, resources: Resources
) -> None:
    """Within a millisecond, ids tell nothing of the order between two processes."""
    late = FixedClock(START + timedelta(microseconds=300))
    other = create_app(replace(resources, clock=late, db=resources.db.at(late)))
    async with client_with(other, ADMIN_KEY) as second:
        each = [client, second] * 5
        await asyncio.gather(*(create_memory(one, f"{n}") for n, one in enumerate(each)))
        whole = await history(second, ALL)
        assert len(whole) == 10
        newest_first = [(parse_timestamp(one["createTime"]), int(id_of(one))) for one in whole]
        assert newest_first == sorted(newest_first, reverse=True)
        for size in (1, 3, 9):
            assert await _pages(second, pageSize=size) == whole


async def _pages(client: httpx.AsyncClient, **params: str | int) -> list[Json]:
    found: list[Json] = []
    token = ""
    while True:
        query = {**params, "pageToken": token}
        page = ok(await client.get(f"{ALL}/revisions", params=query))
        found += page["memoryRevisions"]
        token = page.get("nextPageToken", "")
        if not token:
            return found


async def test_a_token_of_an_earlier_release_is_refused(client: httpx.AsyncClient) -> None:
    await create_memory(client, "x")
    memory = await create_memory(client, "y")
    (revision,) = await history(client, path_of(memory["name"]))
    query = {"list": "revisions", "engine": 1, "memory": "-", "filter": None}
    token = encode_token(query, [int(id_of(revision))])
    answer = await client.get(f"{ALL}/revisions", params={"pageToken": token})
    assert refusal(answer) == BAD_TOKEN


async def test_an_export_is_the_list_from_its_other_end(
    client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    """It holds what there was when it was asked for, in batches of which no row is lost."""
    await _fill(database, 450)
    await create_memory(client, "new", OTHER)
    asked: list[tuple[dict[str, str], int]] = [
        ({}, 451),
        ({"filter": "scope.app=x"}, 1),
        ({"filter": "action=DELETED"}, 0),
    ]
    for params, count in asked:
        answer = await client.get(f"{ALL}/revisions:export", params=params)
        assert answer.headers["content-type"] == "application/x-ndjson"
        lines = [json.loads(line) for line in answer.text.splitlines()]
        assert len(lines) == count
        assert lines[::-1] == await _pages(client, pageSize=200, **params)
    clock.advance(timedelta(seconds=-1))
    answer = await client.get(f"{ALL}/revisions:export")
    assert [json.loads(line)["fact"] for line in answer.text.splitlines()][-1] == "449"


async def test_an_export_of_an_unknown_engine_is_missing(client: httpx.AsyncClient) -> None:
    url = "http://test/v1/reasoningEngines/404/memories/-/revisions"
    for method in (":export", ":listLabels", ""):
        assert refusal(await client.get(url + method))[0] == 404
