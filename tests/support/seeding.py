"""A bank of a hundred thousand memories, written by the database itself in seconds."""

import time

import psycopg

ENGINES = 10
SCOPES = 100
"""In each engine."""
MEMORIES = 100
"""In each scope."""
DIMENSIONS = 384
_VECTORS = 500
"""Distinct ones; making one for each memory would take most of the time."""

_STATEMENTS = (
    # Memories of a scope come over time, so they do not lie side by side.
    "select setseed(0.5)",
    # Neither keys of other tables nor the write-ahead log are of interest here.
    "set session_replication_role = replica",
    "set synchronous_commit = off",
    """
    create temp table numbered as
    select engine_id, scope_number, row_number() over (order by random()) as n,
           jsonb_build_object('user_id', scope_number::text) as scope,
           sha256(convert_to('{"user_id":"' || scope_number || '"}', 'UTF8')) as scope_hash
    from generate_series(1, %(memories)s) as in_scope,
         generate_series(1, %(scopes)s) as scope_number,
         generate_series(1, %(engines)s) as engine_id
    """,
    """
    insert into engines (engine_id, project, location, version, create_time, update_time)
    select engine_id, 'default', 'local', 1, %(start)s::timestamptz, %(start)s::timestamptz
    from generate_series(1, %(engines)s) as engine_id
    on conflict do nothing
    """,
    """
    insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                          memory_type, create_time, update_time)
    select engine_id, 'm' || n, 1, scope, scope_hash, 'Fact number ' || n, '[]', '{}',
           'NATURAL_LANGUAGE_COLLECTION', %(start)s::timestamptz - n * interval '1 second',
           %(start)s::timestamptz
    from numbered order by n
    """,
    """
    insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                          memory_type, create_time, update_time, delete_time, recover_until)
    select engine_id, 'z' || n, 2, scope, scope_hash, 'Old fact number ' || n, '[]', '{}',
           'NATURAL_LANGUAGE_COLLECTION', %(start)s::timestamptz - interval '1 year',
           deleted, deleted, deleted + interval '2 days'
    from (select *, %(start)s::timestamptz - n * interval '1 second' as deleted
          from numbered where n %% 100 = 0) as old order by n
    """,
    """
    create temp table vectors as
    select number, array_agg(random() * 2 - 1)::real[]::halfvec as vector
    from generate_series(1, %(vectors)s) as number, generate_series(1, %(dimensions)s)
    group by number
    """,
    """
    insert into memory_vectors (engine_id, memory_id, model_id, scope_hash, vector)
    select engine_id, 'm' || n, %(model)s, scope_hash, vector
    from numbered join vectors on number = 1 + n %% %(vectors)s order by n
    """,
    """
    insert into memory_revisions (engine_id, revision_id, memory_id, version, action, fact, topics,
                                  metadata, memory_type, labels, extracted_memories, create_time,
                                  expire_time)
    select engine_id, n, 'm' || n, 1, 'CREATED', 'Fact number ' || n, '[]', '{}',
           'NATURAL_LANGUAGE_COLLECTION',
           jsonb_build_object('run', case n %% 5000 when 0 then 'all' else scope_number::text end,
                              'kind', 'all'), '[]',
           %(start)s::timestamptz, %(start)s::timestamptz + interval '1 year'
    from numbered order by n
    """,
    """
    insert into revision_labels (engine_id, key, value, revision_id)
    select engine_id, key, value, revision_id from memory_revisions, jsonb_each_text(labels)
    order by revision_id
    """,
    "analyze",
)


def seed(url: str, start: str, model: str) -> float:
    """Fill a migrated database; return the seconds it took."""
    values = {
        "engines": ENGINES,
        "scopes": SCOPES,
        "memories": MEMORIES,
        "vectors": _VECTORS,
        "dimensions": DIMENSIONS,
        "start": start,
        "model": model,
    }
    began = time.monotonic()
    with psycopg.connect(url, cursor_factory=psycopg.ClientCursor) as connection:
        for statement in _STATEMENTS:
            connection.execute(statement.encode(), values if "%(" in statement else None)
    # Once more with every row visible: index-only scans need the map that vacuum makes.
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(b"vacuum (analyze)")
    return time.monotonic() - began
