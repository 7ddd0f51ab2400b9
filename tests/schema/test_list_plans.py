"""Lists for administrators read their page, not the engine: what is open, has failed, waits.

The statements are those that the service sends, taken on their way and explained.
"""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from app.adapters.db import migrate
from app.settings.settings import Settings
from tests.conftest import START
from tests.schema.conftest import database_beside
from tests.schema.test_plans import (
    ENGINE,
    Statement,
    explained,
    explained_for_any_values,
    indexes,
    serving,
    statements_sent,
)
from tests.support.errors import violations

_SEED = """
select setseed(0.5);
set session_replication_role = replica;
set synchronous_commit = off;
insert into engines (engine_id, project, location, version, create_time, update_time)
select engine_id, 'default', 'local', 1, %(start)s, %(start)s from generate_series(7, 8) engine_id;
insert into operations (engine_id, operation_id, engine_name, kind, state, error, details, scopes,
                        create_time, update_time, due_time)
select 7 + n %% 2, (100000000000000000 + n)::text,
       'projects/default/locations/local/reasoningEngines/7', 'memories.create',
       case when n %% 1000 < 2 then 'PENDING' when n %% 20 in (4, 5) then 'FAILED'
            else 'SUCCEEDED' end,
       case when n %% 20 in (4, 5) then '{"code": 14}'::jsonb end,
       case when n %% 500 in (7, 8)
            then '{"source": {"session": "projects/p/locations/l/reasoningEngines/7/sessions/s"}}'
            else '{}' end::jsonb,
       jsonb_build_object('user_id', array[(n / 80)::text]),
       %(start)s, %(start)s, %(start)s
from generate_series(1, 40000) as n;
create temp table numbered as
select engine_id, number, jsonb_build_object('user_id', number::text) as scope,
       sha256(convert_to('{"user_id":"' || number || '"}', 'UTF8')) as scope_hash
from generate_series(7, 8) as engine_id, generate_series(1, 500) as number;
insert into streams (engine_id, scope_hash, stream_id, scope, options, create_time,
                     last_arrival_time, pending_count, pending_bytes, next_seq, flush_seq,
                     failure_count)
select engine_id, scope_hash, 's' || n, scope, '{}', %(start)s,
       %(start)s::timestamptz - random() * interval '1 day', 0, 0, 1, 0, 0
from numbered, generate_series(1, 10) as n;
insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                      memory_type, create_time, update_time)
select engine_id, 'm' || row_number() over (order by random()), 1, scope, scope_hash, 'Fact.', '[]',
       '{}', 'NATURAL_LANGUAGE_COLLECTION', %(start)s, %(start)s
from numbered, generate_series(1, 20) order by random();
"""
_TABLES = ("FROM operations", "FROM streams", "FROM memories")


@pytest.fixture(scope="module")
def url(database_url: str) -> Iterator[str]:
    with database_beside(database_url, "list_plans") as found:
        migrate.upgrade(found)
        with psycopg.connect(found, cursor_factory=psycopg.ClientCursor) as connection:
            connection.execute(_SEED.encode(), {"start": START.isoformat()})
        with psycopg.connect(found, autocommit=True) as connection:
            connection.execute(b"vacuum (analyze)")
        yield found


async def _statements(
    url: str,
    settings: Settings,
    path: str,
    params: dict[str, str],
    conditions: dict[str, list[str]] | None,
) -> tuple[list[Statement], dict[str, Any]]:
    """Ask for the second page of a list; return its statements on the tables, and the first."""
    async with serving(url, settings, conditions) as (client, database):
        first = (await client.get(ENGINE + path, params=params)).json()
        found = statements_sent(database)
        token = {"pageToken": first["nextPageToken"]} if "nextPageToken" in first else {}
        answer = await client.get(ENGINE + path, params={**params, **token})
    assert answer.status_code == 200, answer.text
    return [one for one in found if any(table in one[0] for table in _TABLES)], first


_SCOPES = "/memories:listScopes"
_CASES: dict[str, tuple[str, dict[str, str], set[str], int]] = {
    "operations": ("/operations", {}, {"pk_operations"}, 100),
    "open": ("/operations", {"filter": "done=false"}, {"ix_operations_open"}, 60),
    "failed": ("/operations", {"filter": 'state="FAILED"'}, {"ix_operations_failed"}, 60),
    "lasting failures": (
        "/operations",
        {"filter": "state=FAILED AND retried=false"},
        {"ix_operations_failed"},
        60,
    ),
    "of a session": (
        "/operations",
        {"filter": 'source.session="s"'},
        {"ix_operations_source_session"},
        60,
    ),
    "of a scope": (
        "/operations",
        {"filter": r'scope="{\"user_id\": \"42\"}"'},
        {"ix_operations_scope_parts"},
        100,
    ),
    "streams": ("/streams", {}, {"ix_streams_list"}, 60),
    "scopes": (_SCOPES, {}, {"ix_memories_scope"}, 500),
    # One scope in a hundred: it looks at most of them, and at one memory of each.
    "some scopes": (_SCOPES, {"filter": 'scope.user_id=~".*77"'}, {"ix_memories_scope"}, 4_000),
}


@pytest.mark.parametrize("case", _CASES)
async def test_a_page_is_found_by_its_index(url: str, settings: Settings, case: str) -> None:
    path, params, wanted, most = _CASES[case]
    params = {**params, "pageSize": "2" if case == "some scopes" else "10"}
    statements, first = await _statements(url, settings, path, params, None)
    assert len(next(iter(first.values()))) == int(params["pageSize"])
    used: set[str] = set()
    read = 0
    for statement in statements:
        plan = explained(url, statement)
        read += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        used |= indexes(plan)
        assert wanted & indexes(explained_for_any_values(url, statement))
    print(f"{case}: {read} buffers by {', '.join(sorted(used))}")
    assert wanted <= used
    assert read <= most


async def test_a_bound_key_does_not_walk_over_the_scopes_of_others(
    url: str, settings: Settings
) -> None:
    bound = {"user_id": ["42"]}
    statements, first = await _statements(url, settings, _SCOPES, {}, bound)
    assert first["scopes"] == [{"scope": {"user_id": "42"}, "memoryCount": 20}]
    plans = [explained(url, statement) for statement in statements]
    assert "ix_memories_scope_parts" in set().union(*map(indexes, plans))
    assert sum(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] for plan in plans) <= 400


async def test_a_filter_that_passes_over_too_many_scopes_is_refused(
    url: str, settings: Settings
) -> None:
    hasty = settings.model_copy(update={"filter_timeout_seconds": 0.001})
    async with serving(url, hasty) as (client, _):
        answer = await client.get(ENGINE + _SCOPES, params={"filter": 'scope.user_id="none"'})
        assert violations(answer).keys() == {"filter"}
    async with serving(url, settings) as (client, _):
        assert (await client.get(ENGINE + _SCOPES)).status_code == 200


def _read_memories(url: str) -> int:
    counts = "select seq_tup_read + idx_tup_fetch from pg_stat_user_tables where relname = %s"
    with psycopg.connect(url) as connection:
        row = connection.execute(counts, ["memories"]).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize(("text", "keys"), [("none", []), ("42", ["user_id"])])
async def test_a_value_of_a_scope_is_found_without_reading_all_memories(
    url: str, settings: Settings, text: str, keys: list[str]
) -> None:
    before = _read_memories(url)
    async with serving(url, settings, None) as (client, _):
        answer = await client.post(f"{ENGINE}/resources:find", json={"text": text})
    found = [one["scope"] for one in answer.json()["resources"]]
    assert found == [{key: text} for key in keys]
    # A hundred scopes, to know their keys, and the memories of one.
    assert _read_memories(url) - before <= 500
