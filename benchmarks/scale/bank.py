"""Fills a database with memories, quickly: as they would be had they come over time.

Memories of a scope do not lie side by side. Indexes are made when the rows are there.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass

import psycopg
from psycopg import sql

from benchmarks.scale.words import DIMENSIONS, Floats, SubspaceEmbedder, facts, vectors

ENGINES = 10
IN_SCOPE = 100
LARGE = {"user_id": "large"}
"""The one large scope, of the first engine."""
_POOL = 50_000
"""Different facts, and different vectors of the large scope; small scopes share some vectors."""
_SHARED_VECTORS = 2_000
_TABLES = ("memories", "memory_vectors", "memory_revisions")
_FACTS_SEED, _LARGE_SEED, _SHARED_SEED = 1, 2, 3


@dataclass(frozen=True)
class Bank:
    """What a database holds: so many scopes of 100 in each engine, and one of `large`."""

    memories: int
    large: int = 0

    @property
    def scopes(self) -> int:
        """The scopes of each engine."""
        return max(1, self.memories // ENGINES // IN_SCOPE)


_NUMBERED = """
create temp table numbered as
select row_number() over (order by random()) as n, engine_id, scope,
       sha256(convert_to('{"user_id":"' || scope || '"}', 'UTF8')) as scope_hash, in_large
from (
    select engine_id, scope_number::text as scope, null::bigint as in_large
    from generate_series(1, %(in_scope)s), generate_series(1, %(scopes)s) as scope_number,
         generate_series(1, %(engines)s) as engine_id
    union all
    select 1, 'large', in_large from generate_series(1, %(large)s) as in_large
) as all_of_them
"""
_ENGINES = """
insert into engines (engine_id, project, location, version, create_time, update_time,
                     embedding_model)
select engine_id, 'default', 'local', 1, now(), now(), %(model)s
from generate_series(1, %(engines)s) as engine_id
on conflict (engine_id) do update set embedding_model = excluded.embedding_model
"""
_MODEL = """
insert into embedding_models (model_id, dimensions) values (%(model)s, %(dimensions)s)
on conflict do nothing
"""
_MEMORIES = """
insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                      memory_type, create_time, update_time, language, cues)
select engine_id, (700000000000000000 + n)::text, 1, jsonb_build_object('user_id', scope),
       scope_hash, fact, '[]', '{}', 'NATURAL_LANGUAGE_COLLECTION',
       now() - n * interval '1 second', now() - n * interval '1 second', 'english', '{}'
from numbered join facts on facts.number = n %% %(pool)s order by n
"""
_VECTORS = """
insert into memory_vectors (engine_id, memory_id, model_id, scope_hash, vector)
select engine_id, (700000000000000000 + n)::text, %(model)s, scope_hash, vector
from numbered join vectors
  on vectors.number = case when in_large is null then -1 - n %% %(shared)s else in_large end
order by n
"""
_REVISIONS = """
insert into memory_revisions (engine_id, revision_id, memory_id, version, action, fact, topics,
                              metadata, memory_type, labels, extracted_memories, create_time,
                              expire_time)
select engine_id, 700000000000000000 + n, (700000000000000000 + n)::text, 1, 'CREATED', fact,
       '[]', '{}', 'NATURAL_LANGUAGE_COLLECTION', '{}', '[]', now(), now() + interval '1 year'
from numbered join facts on facts.number = n %% %(pool)s order by n
"""


def fill(url: str, bank: Bank) -> float:
    """Fill a migrated database; return the seconds it took."""
    values = {
        "engines": ENGINES,
        "scopes": bank.scopes,
        "in_scope": IN_SCOPE,
        "large": bank.large,
        "pool": _POOL,
        "shared": _SHARED_VECTORS,
        "model": SubspaceEmbedder.model_id,
        "dimensions": DIMENSIONS,
    }
    began = time.monotonic()
    with psycopg.connect(url, cursor_factory=psycopg.ClientCursor) as connection:
        for setting in ("session_replication_role = replica", "synchronous_commit = off"):
            connection.execute(f"set {setting}".encode())
        connection.execute(b"set maintenance_work_mem = '512MB'")
        connection.execute(b"select setseed(0.5)")
        made = _without_indexes(connection)
        _copy_pools(connection, bank)
        for statement in (_NUMBERED, _ENGINES, _MODEL, _MEMORIES, _VECTORS, _REVISIONS):
            connection.execute(statement.encode(), values)
        for index in made:
            connection.execute(index.encode())
    with psycopg.connect(url, autocommit=True) as connection:
        # Index-only scans need the map that vacuum makes.
        connection.execute(b"vacuum (analyze)")
        connection.execute(b"checkpoint")
    return time.monotonic() - began


def _without_indexes(connection: psycopg.Connection) -> list[str]:
    """Drop the indexes that are no keys; return what makes them again."""
    statement = (
        b"select c.relname, pg_get_indexdef(c.oid) from pg_index as i"
        b" join pg_class as c on c.oid = i.indexrelid"
        b" where i.indrelid = any(%s::regclass[]) and not i.indisunique"
    )
    found = connection.execute(statement, [list(_TABLES)]).fetchall()
    for name, _ in found:
        connection.execute(sql.SQL("drop index {}").format(sql.Identifier(name)))
    return [definition for _, definition in found]


def _copy_pools(connection: psycopg.Connection, bank: Bank) -> None:
    connection.execute(b"create temp table facts (number bigint, fact text)")
    connection.execute(b"create temp table vectors (number bigint, vector halfvec)")
    with connection.cursor().copy(b"copy facts from stdin") as copy:
        for number, fact in enumerate(facts(_POOL, _FACTS_SEED)):
            copy.write_row((number, fact))
    shared = vectors(_SHARED_VECTORS, _SHARED_SEED)
    with connection.cursor().copy(b"copy vectors from stdin (format binary)") as copy:
        copy.write(_HEADER)
        _write(copy, (-1 - n for n in range(len(shared))), shared)
        _write(copy, range(1, bank.large + 1), vectors(bank.large, _LARGE_SEED))
        copy.write(_TRAILER)
    connection.execute(b"analyze facts")
    connection.execute(b"analyze vectors")


_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER = b"\xff\xff"


def _write(copy: psycopg.Copy, numbers: Iterable[int], rows: Floats) -> None:
    """Write numbers and vectors as the binary format has them; the driver knows no halfvec."""
    halves = rows.astype(">f2").tobytes()
    size = 2 * DIMENSIONS
    length = (size + 4).to_bytes(4, "big") + DIMENSIONS.to_bytes(2, "big") + bytes(2)
    for at, number in enumerate(numbers):
        key = bytes((0, 2, 0, 0, 0, 8)) + number.to_bytes(8, "big", signed=True)
        copy.write(key + length + halves[at * size : (at + 1) * size])


_SIZES = b"""
select c.relname, pg_relation_size(c.oid) + coalesce(pg_relation_size(c.reltoastrelid), 0)
from pg_class as c
where c.oid = any(%(tables)s::regclass[])
   or c.oid in (select indexrelid from pg_index where indrelid = any(%(tables)s::regclass[]))
order by c.oid <> all(%(tables)s::regclass[]), 2 desc
"""


def sizes(url: str) -> list[tuple[str, int]]:
    """Return the tables of memories and then their indexes, each with its bytes."""
    with psycopg.connect(url) as connection:
        return [
            (name, int(size))
            for name, size in connection.execute(_SIZES, {"tables": list(_TABLES)})
        ]
