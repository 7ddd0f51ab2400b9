"""The schema stays ready for engines that are spread over databases, or distributed by engine.

Then whatever must be unique can only be so within one engine, what refers to something must lie
with it, and what is looked for must say of which engine it is (`tests/architecture/test_tenancy`).
"""

import psycopg
import pytest
from sqlalchemy import Table, UniqueConstraint

from app.adapters.db.distribution import COLUMN, DISTRIBUTED, LOCAL
from app.process.metadata import metadata
from tests.architecture.distributed import KEYS_WITHOUT_ENGINE, breaks_in_trigger
from tests.architecture.tenancy import TENANT_TABLES

TABLES = [table for table in metadata.sorted_tables if table.name in DISTRIBUTED]
BY_NAME = {table.name: table for table in TABLES}
_TRIGGERS = b"""
    select proname, prosrc, array_remove(array_agg(distinct tgnewtable::text), null)
        || array_remove(array_agg(distinct tgoldtable::text), null)
    from pg_trigger join pg_proc on pg_proc.oid = tgfoid
    where not tgisinternal and tgrelid = any(%s::regclass[])
    group by proname, prosrc
"""


def test_every_table_has_its_place() -> None:
    placed = [*DISTRIBUTED, *LOCAL]
    assert sorted(placed) == sorted([*metadata.tables, "alembic_version"])
    assert [table.name for table in TABLES if COLUMN not in table.columns] == []


def test_a_table_is_distributed_after_those_that_it_refers_to() -> None:
    for place, name in enumerate(DISTRIBUTED):
        referred = {
            key.referred_table.name for key in metadata.tables[name].foreign_key_constraints
        }
        assert referred <= set(DISTRIBUTED[:place])


def uniques(table: Table) -> list[list[str]]:
    """Return the columns of all that must be unique, in their order."""
    constraints = [one.columns for one in table.constraints if isinstance(one, UniqueConstraint)]
    indexes = [index.columns for index in table.indexes if index.unique]
    return [[column.name for column in columns] for columns in [*constraints, *indexes]]


@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_unique_is_so_within_an_engine(name: str) -> None:
    table = BY_NAME[name]
    keys = [[column.name for column in table.primary_key], *uniques(table)]
    assert [key[0] for key in keys] == [COLUMN] * len(keys)


@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_referred_to_is_of_the_same_engine(name: str) -> None:
    for key in BY_NAME[name].foreign_key_constraints:
        assert key.elements[0].parent.name == key.elements[0].column.name == COLUMN


def test_the_keys_of_the_database_are_of_one_engine(database_url: str) -> None:
    """Triggers and indexes of written migrations are in no metadata."""
    tables = [*BY_NAME, "strange"]
    with psycopg.connect(database_url) as connection:
        assert connection.execute(KEYS_WITHOUT_ENGINE, [tables]).fetchall() == []
        connection.execute(
            b"create table strange (engine_id bigint, name text constraint lone_name unique,"
            b" other text constraint lone_reference references strange (name),"
            b" constraint good primary key (name, engine_id))"
        )
        lone = connection.execute(KEYS_WITHOUT_ENGINE, [tables]).fetchall()
        assert sorted(lone) == [("lone_name",), ("lone_reference",)]
        connection.rollback()


def test_nothing_of_the_service_refers_to_an_engine_or_what_is_below() -> None:
    others = [table for table in metadata.sorted_tables if table.name in LOCAL]
    referred = {
        key.referred_table.name for table in others for key in table.foreign_key_constraints
    }
    assert not referred & BY_NAME.keys()


def test_triggers_write_by_values_beside_the_rows_that_changed(database_url: str) -> None:
    """What a function of PL/pgSQL sends is recorded nowhere: it is read from the database."""
    with psycopg.connect(database_url) as connection:
        found = connection.execute(_TRIGGERS, [list(TENANT_TABLES)]).fetchall()
    assert found
    assert [name for name, source, rows in found if breaks_in_trigger(source, rows)] == []
