"""The triggers that count what engines hold, which alembic does not compare."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest

from app.adapters.db import migrate
from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.memory.memories.store.tables import MemoryRow, RevisionRow, counted_columns
from app.settings.settings import Settings
from tests.support.totals import held, recounted, waiting

_BEFORE = "b1c40e5a0802"
_FROM_ROWS = "d5a8c3e11000"
_STATEMENT, _ROW = "STATEMENT", "ROW"
TRIGGERS = {
    ("memories", "INSERT", _STATEMENT),
    ("memories", "UPDATE", _STATEMENT),
    ("memories", "DELETE", _STATEMENT),
    ("memory_revisions", "INSERT", _STATEMENT),
    ("memory_revisions", "UPDATE", _STATEMENT),
    ("memory_revisions", "DELETE", _STATEMENT),
    ("sessions", "INSERT", _STATEMENT),
    # For the columns that count alone.
    ("sessions", "UPDATE", _ROW),
    ("sessions", "DELETE", _STATEMENT),
    ("session_events", "INSERT", _STATEMENT),
    # Where one is erased, and with it its length.
    ("session_events", "UPDATE", _ROW),
    ("session_events", "DELETE", _STATEMENT),
    ("session_summaries", "INSERT", _STATEMENT),
    ("session_summaries", "UPDATE", _STATEMENT),
    ("session_summaries", "DELETE", _STATEMENT),
    # Neither its scope nor its digest ever changes.
    ("read_lines", "INSERT", _STATEMENT),
    ("read_lines", "DELETE", _STATEMENT),
    ("stream_events", "INSERT", _STATEMENT),
    ("stream_events", "UPDATE", _STATEMENT),
    ("stream_events", "DELETE", _STATEMENT),
    ("user_states", "INSERT", _STATEMENT),
    ("user_states", "UPDATE", _STATEMENT),
    ("user_states", "DELETE", _STATEMENT),
    ("app_states", "INSERT", _STATEMENT),
    ("app_states", "UPDATE", _STATEMENT),
    ("app_states", "DELETE", _STATEMENT),
    ("task_artifacts", "INSERT", _STATEMENT),
    ("task_artifacts", "UPDATE", _STATEMENT),
    ("task_artifacts", "DELETE", _STATEMENT),
}
_ROWS = (
    """
    insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                          memory_type, create_time, update_time, delete_time)
    select 1 + n % 2, n, 1, '{"user_id": "42"}', 'x', repeat('ü', n), '[]', '{"a": 1.50}', 'm',
           now(), now(), case when n % 3 = 0 then now() end
    from generate_series(1, 9) as n
    """,
    """
    insert into memory_revisions (engine_id, revision_id, memory_id, version, action, fact, topics,
                                  metadata, memory_type, labels, extracted_memories, create_time,
                                  expire_time)
    select engine_id, memory_id::bigint, memory_id, 1, 'CREATED', fact, '[{"a": 1}]', metadata, 'm',
           '{"a": "b"}', '[{"fact": "tea"}]', now(), now()
    from memories
    """,
    """
    insert into sessions (engine_id, session_id, user_id, display_name, session_state, version,
                          create_time, update_time, shown_update_time, expire_time)
    values (1, 'a', '42', 'name', '{"a": [1, 2]}', 1, now(), now(), now(), 'infinity'),
           (2, 'b', '42', null, '{}', 1, now(), now(), now(), 'infinity')
    """,
    """
    insert into user_states (engine_id, user_id, state)
    values (1, '42', '{"user:a": "ü"}'), (2, '42', '{"user:b": 1}')
    """,
    """
    insert into app_states (engine_id, state) values (1, '{"app:a": [1, 2]}')
    """,
    """
    insert into session_events (engine_id, session_id, seq, event_id, author, invocation_id,
                                "timestamp", size_bytes, create_time)
    select 1, 'a', n, n, 'user', 'i', now(), n * 100, now() from generate_series(1, 3) as n
    """,
    """
    insert into streams (engine_id, scope_hash, stream_id, scope, options, create_time,
                         last_arrival_time, pending_count, pending_bytes, next_seq, flush_seq,
                         failure_count)
    values (1, 'x', 'full', '{}', '{}', now(), now(), 2, 30, 4, 0, 0),
           (1, 'x', 'empty', '{}', '{}', now(), now(), 0, 0, 1, 0, 0)
    """,
    """
    insert into stream_events (engine_id, scope_hash, stream_id, seq, arrival_time, process_time,
                               content, content_bytes)
    values (1, 'x', 'full', 1, now(), null, '{}', 10), (1, 'x', 'full', 2, now(), null, '{}', 20),
           (1, 'x', 'full', 3, now(), now(), '{}', 40), (1, 'x', 'full', 4, now(), now(), null, 80)
    """,
)


def triggers(url: str) -> set[tuple[str, str, str]]:
    statement = b"""
        select event_object_table, event_manipulation, action_orientation
        from information_schema.triggers
        where trigger_name like 'total%' and action_timing = 'AFTER'
    """
    with psycopg.connect(url) as connection:
        return {(table, verb, each) for table, verb, each in connection.execute(statement)}


def functions(url: str) -> dict[str, str]:
    statement = b"select proname, prosrc from pg_proc where proname like 'total%'"
    with psycopg.connect(url) as connection:
        return dict(connection.execute(statement).fetchall())


@pytest.fixture
async def database(empty_database_url: str, data_dir: Path) -> AsyncIterator[Database]:
    migrate.upgrade(empty_database_url)
    found = Database(open_engine(empty_database_url, Settings(data_dir=data_dir)))
    yield found
    await found.close()


def test_everything_that_counts_has_its_triggers(database_url: str) -> None:
    assert triggers(database_url) == TRIGGERS
    assert len(functions(database_url)) == len(TRIGGERS)


async def test_what_was_there_before_is_counted(
    empty_database_url: str, database: Database
) -> None:
    with psycopg.connect(empty_database_url) as connection:
        for statement in _ROWS:
            connection.execute(statement.encode())
    counted, streams = await held(database), await waiting(database)
    assert counted == await recounted(database)
    assert counted[1]["events"] == 6
    assert (2, 30) in streams
    await database.close()
    migrate.downgrade(empty_database_url, _BEFORE)
    assert triggers(empty_database_url) == set()
    assert functions(empty_database_url) == {}
    migrate.upgrade(empty_database_url)
    assert await held(database) == counted
    assert sorted(await waiting(database)) == sorted(streams)


def test_the_way_back_restores_the_texts_of_functions(empty_database_url: str) -> None:
    migrate.upgrade(empty_database_url, revision=_FROM_ROWS)
    former = functions(empty_database_url)
    migrate.upgrade(empty_database_url)
    assert not former.items() & functions(empty_database_url).items()
    migrate.downgrade(empty_database_url, _FROM_ROWS)
    assert functions(empty_database_url) == former


async def test_a_change_of_what_does_not_count_writes_nothing(
    empty_database_url: str, database: Database
) -> None:
    with psycopg.connect(empty_database_url) as connection:
        for statement in _ROWS:
            connection.execute(statement.encode())
    with psycopg.connect(empty_database_url) as other:
        for change in (
            b"update memories set version = version + 1",
            b"update sessions set last_seq = last_seq + 1, version = version + 1",
            b"update sessions set session_state = session_state",
            b"update stream_events set process_time = now(), batch_limit = 1",
            b"update memory_revisions set expire_time = now()",
            b"delete from stream_events where content is null",
        ):
            other.execute(change)
        written = b"select count(*) from engine_totals where backend = pg_backend_pid()"
        assert other.execute(written).fetchone() == (0,)
    assert await held(database) == await recounted(database)


async def test_lines_that_were_read_count(empty_database_url: str, database: Database) -> None:
    insertion = b"""
        insert into read_lines (engine_id, scope_hash, digest, scope, expire_time)
        select 1 + n % 2, 'x', sha224(n::text::bytea), '{"user_id": "42"}', now()
        from generate_series(1, 5) as n
    """
    with psycopg.connect(empty_database_url) as connection:
        connection.execute(insertion)
    assert set(await held(database)) == {1, 2}
    assert await held(database) == await recounted(database)
    with psycopg.connect(empty_database_url) as connection:
        connection.execute(b"update read_lines set expire_time = now() + interval '1 day'")
        connection.execute(b"delete from read_lines where engine_id = 2")
    assert set(await held(database)) == {1}
    assert await held(database) == await recounted(database)


@pytest.mark.parametrize("verb", ["insert", "update", "delete"])
@pytest.mark.parametrize("row", [MemoryRow, RevisionRow])
def test_the_bytes_of_all_content_count(
    database_url: str, row: type[MemoryRow | RevisionRow], verb: str
) -> None:
    with psycopg.connect(database_url) as connection:
        name = f"total_{row.__tablename__}_{verb}"
        found = connection.execute("select pg_get_functiondef(%s::regproc)", [name]).fetchone()
    assert found is not None
    counted = re.findall(r"octet_length\(concat\((.*?)\)\)", found[0])
    # A migration that adds a column of content creates the functions anew.
    assert [set(one.split(", ")) for one in counted] == [counted_columns(row)]
