"""Upgrades from every earlier schema: rows of each of its tables come through all migrations."""

from pathlib import Path
from typing import Any

import psycopg
from alembic.config import Config
from alembic.script import ScriptDirectory

import migrations
from app.adapters.db import migrate
from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.settings.settings import Settings
from tests.support.totals import held, recounted

_FILLED_OTHERWISE = {"alembic_version", "engine_totals", "api_key_changes"}
_COLUMNS = b"""
    select relation.relname, attribute.attname, type.typname
    from pg_attribute as attribute
    join pg_class as relation on relation.oid = attrelid
    join pg_type as type on type.oid = atttypid
    where relnamespace = 'public'::regnamespace and relkind = 'r'
    and attnum > 0 and not attisdropped and attnotnull and not atthasdef and attidentity = ''
    order by 1, 2
"""
_PARENTS = b"""
    select conrelid::regclass::text, confrelid::regclass::text from pg_constraint
    where contype = 'f' and conrelid <> confrelid
"""
_LISTS = {"topics", "derived_from"}
"""Columns whose JSON is a list."""

Row = dict[str, Any]


def _revisions() -> list[str]:
    """Return all revisions, the oldest first."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    found = [one.revision for one in ScriptDirectory.from_config(config).walk_revisions()]
    return found[::-1]


def _value(column: str, kind: str, number: int) -> Any:
    """Return a value of a type; equal in all tables, so that rows refer to each other."""
    values = {
        "int8": number,
        "int4": number,
        "float8": float(number),
        "text": f"r{number}",
        "bytea": f"r{number}".encode(),
        "jsonb": "[]" if column in _LISTS else '{"user_id": "42"}',
        "timestamptz": "2026-01-15T12:00:00Z",
        "date": "2026-01-15",
        "interval": "1 day",
        "bool": False,
        "uuid": f"00000000-0000-0000-0000-{number:012}",
        "halfvec": "[1,0]",
        "vector": "[1,0]",
        "_text": [f"r{number}"],
    }
    return values[kind]


def _order(connection: psycopg.Connection[Any], tables: set[str]) -> list[str]:
    """Return tables, each after those that it refers to."""
    parents: dict[str, set[str]] = {table: set() for table in tables}
    for child, parent in connection.execute(_PARENTS):
        parents.setdefault(child, set()).add(parent)
    ordered: list[str] = []
    while left := [table for table in sorted(tables) if table not in ordered]:
        ordered += [table for table in left if parents[table] <= set(ordered)]
    return ordered


def _fill(url: str, number: int) -> dict[str, Row]:
    """Insert a row into every table; return what was inserted."""
    rows: dict[str, Row] = {}
    with psycopg.connect(url) as connection:
        for table, column, kind in connection.execute(_COLUMNS):
            if table not in _FILLED_OTHERWISE:
                rows.setdefault(table, {})[column] = _value(column, kind, number)
        for table in _order(connection, set(rows)):
            row = rows[table]
            names, marks = ", ".join(f'"{name}"' for name in row), ", ".join(["%s"] * len(row))
            statement = f"insert into {table} ({names}) values ({marks})"
            connection.execute(statement.encode(), list(row.values()))
    return rows


def _missing(connection: psycopg.Connection[Any], table: str, row: Row) -> bool:
    """Return True unless the row is there, with each of its values whose column still is."""
    columns = connection.execute(
        "select attname from pg_attribute where attrelid = %s::regclass and not attisdropped",
        [table],
    )
    kept = {name: row[name] for (name,) in columns if name in row}
    condition = " and ".join(f'"{name}" = %s' for name in kept)
    statement = f"select count(*) from {table} where {condition}"
    return connection.execute(statement.encode(), list(kept.values())).fetchone() != (1,)


async def test_rows_of_every_earlier_schema_come_through(
    empty_database_url: str, settings: Settings
) -> None:
    """One database goes through all revisions, and gets rows at each."""
    filled: list[tuple[str, dict[str, Row]]] = []
    for number, revision in enumerate(_revisions(), 1):
        migrate.upgrade(empty_database_url, revision=revision)
        filled.append((revision, _fill(empty_database_url, number)))
    migrate.check(empty_database_url)
    with psycopg.connect(empty_database_url) as connection:
        lost = [
            (revision, table)
            for revision, rows in filled
            for table, row in rows.items()
            if _missing(connection, table, row)
        ]
    assert lost == []
    database = Database(open_engine(empty_database_url, settings))
    assert await held(database) == await recounted(database)
    await database.close()
