"""Rows of many engines, written at once, and what a database holds altogether."""

import psycopg

from app.adapters.db.distribution import DISTRIBUTED, LOCAL

ENGINES = 20
_FILL = """
insert into engines (engine_id, project, location, version, create_time, update_time)
select n, 'default', 'local', 1, now(), now() from generate_series(1, %(engines)s) as n;

insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                      memory_type, create_time, update_time, language, cues)
select 1 + n %% %(engines)s, n::text, 1, jsonb_build_object('user_id', (n %% 100)::text),
       sha256((n %% 100)::text::bytea), 'I like tea number ' || n, '[]', '{}',
       'NATURAL_LANGUAGE_COLLECTION', now(), now(), 'english', '{}'
from generate_series(1, %(memories)s) as n;

insert into unembedded_memories (engine_id, memory_id, due_time)
select engine_id, memory_id, now() from memories where memory_id::bigint %% 10 = 0;

insert into audit_events (engine_id, create_time, event_id, method, result)
select engine_id, create_time, memory_id, 'memories.create', 'OK' from memories;
"""


def fill(url: str, memories: int) -> None:
    """Write engines, memories with what hangs on them, and what the log says of them."""
    with psycopg.connect(url, cursor_factory=psycopg.ClientCursor) as connection:
        connection.execute(_FILL, {"engines": ENGINES, "memories": memories})


def contents(url: str) -> dict[str, tuple[int, int]]:
    """Return how many rows each table has, and the sum of their digests."""
    with psycopg.connect(url) as connection:
        return {name: _content(connection, name) for name in (*DISTRIBUTED, *LOCAL)}


def _content(connection: psycopg.Connection, name: str) -> tuple[int, int]:
    statement = (
        "select count(*), coalesce(sum(hashtextextended(row_to_json(t)::text, 0)::numeric), 0)"
        f" from {name} as t"
    )
    row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])
