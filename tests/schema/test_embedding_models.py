"""The migration that tells, of the vectors that are there, which model serves each engine."""

from typing import Any

import psycopg

from app.adapters.db import migrate

_BEFORE = "c5d20e5a0900"
_ROWS = (
    """
    insert into engines (engine_id, project, location, version, create_time, update_time)
    select n, 'p', 'l', 1, now(), now() from generate_series(1, 3) as n
    """,
    """
    insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                          memory_type, create_time, update_time, delete_time)
    select engine, n, 1, '{}', 'x', case when n <> 5 then 'fact' end, '[]', '{}', 'm', now(), now(),
           case when n = 4 then now() end
    from generate_series(1, 5) as n, generate_series(1, 3) as engine
    """,
    # Of the first engine, most are by one model, and one is by another; of the second, all alike.
    """
    insert into memory_vectors (engine_id, memory_id, model_id, scope_hash, vector)
    values (1, '1', 'most', 'x', '[1, 0]'), (1, '2', 'most', 'x', '[1, 0]'),
           (1, '3', 'few', 'x', '[1, 0, 0]'), (2, '1', 'few', 'x', '[1, 0, 0]'),
           (2, '2', 'few', 'x', '[1, 0, 0]'), (2, '3', 'few', 'x', '[1, 0, 0]')
    """,
)


def rows(url: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(statement.encode()).fetchall()


def test_what_is_there_tells_the_model_of_each_engine(empty_database_url: str) -> None:
    migrate.upgrade(empty_database_url, revision=_BEFORE)
    with psycopg.connect(empty_database_url) as connection:
        for statement in _ROWS:
            connection.execute(statement.encode())

    migrate.upgrade(empty_database_url)

    engines = (
        "select engine_id, embedding_model, stale_vectors_until - now() <= interval '5 min'"
        " from engines order by 1"
    )
    assert rows(empty_database_url, engines) == [
        (1, "most", True),
        (2, "few", None),
        (3, None, None),
    ]
    models = "select model_id, dimensions from embedding_models order by 1"
    assert rows(empty_database_url, models) == [("few", 3), ("most", 2)]
    # What is live, has a fact, and no vector of that model.
    waiting = "select engine_id, memory_id from unembedded_memories"
    assert rows(empty_database_url, waiting) == [(1, "3")]
