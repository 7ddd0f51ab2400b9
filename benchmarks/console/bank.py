"""Fills an engine with memories and revisions, quickly, in the order of their time.

One in a thousand has a given value of whatever may be looked for, spread over all of the time. So
has the label `run=yes`, of which key and value are each as common as can be.
"""

import psycopg

VALUES = 1_000
"""Different scopes, callers, authors, operations, and values of the label `source`."""
_STATEMENTS = (
    "set session_replication_role = replica",
    "set synchronous_commit = off",
    """
    insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                          memory_type, create_time, update_time, language, cues)
    select 1, 'm' || n, %(of_memory)s, jsonb_build_object('user_id', (n %% %(values)s)::text),
           sha256(convert_to('{"user_id":"' || n %% %(values)s || '"}', 'UTF8')),
           'Fact number ' || n, '[]', '{}', 'NATURAL_LANGUAGE_COLLECTION', now(), now(), 'english',
           '{}'
    from generate_series(0, %(revisions)s / %(of_memory)s - 1) as n
    """,
    """
    insert into memory_revisions (engine_id, revision_id, memory_id, version, action, fact, topics,
                                  metadata, memory_type, labels, extracted_memories, author,
                                  operation_id, caller, create_time, expire_time)
    select 1, 1 + n, 'm' || n %% memories, 1 + n / memories,
           case when n %% %(values)s = 7 then 'DELETED' else 'UPDATED' end, 'Fact number ' || n,
           '[]', '{}', 'NATURAL_LANGUAGE_COLLECTION',
           jsonb_build_object(
               'source', value, 'import', 'yes',
               'run', case n %% %(values)s when 7 then 'yes' else (n %% 10)::text end
           ), '[]',
           'author-' || value,
           'o' || value, 'caller-' || value, now() - (%(revisions)s - n) * interval '1 second',
           now() + interval '1 year'
    from generate_series(0, %(revisions)s - 1) as n,
         cast(%(revisions)s / %(of_memory)s as bigint) as memories,
         cast(cast(n as bigint) * 7919 %% %(values)s as text) as value
    """,
    """
    insert into revision_labels (engine_id, key, value, revision_id)
    select 1, key, value, revision_id from memory_revisions, jsonb_each_text(labels)
    order by key, value, revision_id
    """,
)


def fill(url: str, revisions: int, *, of_memory: int) -> None:
    """Fill the first engine of a migrated database; each memory has as many revisions as said."""
    values = {"revisions": revisions, "of_memory": of_memory, "values": VALUES}
    with psycopg.connect(url, cursor_factory=psycopg.ClientCursor) as connection:
        for statement in _STATEMENTS:
            connection.execute(statement.encode(), values if "%(" in statement else None)
    with psycopg.connect(url, autocommit=True) as connection:
        # Index-only scans need the map that vacuum makes.
        connection.execute(b"vacuum (analyze)")
