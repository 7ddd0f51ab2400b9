"""Sweeps and claims read what is due by its time, and change rows by their keys.

The statements are those that the service sends, taken on their way and explained.
"""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import event

from app.adapters.db import migrate
from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.adapters.db.spread import ChangeKeys, FindRows
from app.adapters.resources import Resources
from app.kernel.clock import SystemClock
from app.memory.retention import jobs
from app.memory.retention import store as retention
from app.platform.operations.store import queue
from app.platform.sessions.store import erasure as sessions
from app.settings.settings import Settings
from tests.schema.conftest import database_beside
from tests.schema.test_plans import Statement, explained, nodes
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.sweeping import batch

_SEED = """
set session_replication_role = replica;
insert into engines (engine_id, project, location, version, create_time, update_time)
select n, 'default', 'local', 1, now(), now() from generate_series(1, 40) as n;
create temp table numbered as
select n, 1 + n % 40 as engine_id, n::text as id,
       now() + case when n % 4 = 0 then -1 else 1 end * n * interval '1 second' as at
from generate_series(1, 40000) as n;
insert into sessions (engine_id, session_id, user_id, version, create_time, update_time,
                      shown_update_time, expire_time)
select engine_id, id, '42', 1, at, at, at, at from numbered;
insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                      memory_type, create_time, update_time, expire_time)
select engine_id, id, 1, '{}', '', 'Fact.', '[]', '{}', 'NATURAL_LANGUAGE_COLLECTION', at, at, at
from numbered;
insert into memory_revisions (engine_id, revision_id, memory_id, version, action, fact, topics,
                              metadata, memory_type, labels, extracted_memories, create_time,
                              expire_time)
select engine_id, n, id, 1, 'CREATED', 'Fact.', '[]', '{}', 'NATURAL_LANGUAGE_COLLECTION', '{}',
       '[]', at, at
from numbered;
insert into operations (engine_id, operation_id, engine_name, kind, key, state, create_time,
                        update_time, due_time)
select engine_id, id, 'engine', 'test.work', id,
       case when n % 10 = 0 then 'PENDING' else 'SUCCEEDED' end, at, at, at
from numbered;
"""
_LIMIT = 20
CASES: dict[str, tuple[FindRows, ChangeKeys[int], str]] = {
    "sessions": (sessions.find_expired, sessions.remove_expired, "ix_sessions_expire_time"),
    "memories": (retention.find_gone, jobs.remove_gone, "ix_memories_expire_time"),
    "revisions": (
        retention.find_expired_revisions,
        retention.remove_expired_revisions,
        "ix_memory_revisions_expire_time",
    ),
}


@pytest.fixture(scope="module")
def url(database_url: str) -> Iterator[str]:
    with database_beside(database_url, "swept") as url:
        migrate.upgrade(url)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_SEED.encode())
            connection.execute(b"analyze")
        yield url


def whole_tables(plan: dict[str, Any]) -> list[str]:
    """Return the tables with thousands of rows that a plan reads whole."""
    read = [node["Relation Name"] for node in nodes(plan) if node["Node Type"] == "Seq Scan"]
    return [name for name in read if name in {"memory_revisions", "operations", *CASES}]


@pytest.mark.parametrize("case", CASES)
async def test_a_sweep_of_many_engines_reads_what_is_due(
    url: str, settings: Settings, case: str
) -> None:
    find, change, index = CASES[case]
    sent: list[Statement] = []
    database = Database(open_engine(url, settings))
    resources = Resources(settings, SystemClock(), database, url, ScriptedEmbedder())
    event.listen(
        database.engine.sync_engine,
        "before_cursor_execute",
        lambda *arguments: sent.append((arguments[2], arguments[3])),
    )
    try:
        found, counts = await batch(resources, find, change, _LIMIT)
    finally:
        await database.close()
    assert (found, sum(counts), len(counts)) == (_LIMIT, _LIMIT, 10)
    finding_plan = explained(url, sent[0])
    assert index in {node.get("Index Name") for node in nodes(finding_plan)}
    plans = [explained(url, each) for each in sent]
    assert [whole_tables(plan) for plan in plans] == [[]] * len(plans)
    read = [plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] for plan in plans]
    print(f"{case}: at most {max(read)} buffers a statement")
    assert max(read) < 400


def test_an_operation_is_found_by_the_index_of_unfinished_ones(url: str) -> None:
    for statement in (queue._FIRST, queue._OTHERS, queue._OF_OTHERS):
        with psycopg.connect(url) as connection:
            (row,) = connection.execute(b"explain (generic_plan, format json) " + statement)
        names = {node.get("Index Name") for node in nodes(row[0][0]["Plan"])}
        assert "ix_operations_unfinished" in names
