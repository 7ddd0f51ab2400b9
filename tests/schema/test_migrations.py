"""Migrations: up, down and up again, and their result is what the tables say."""

import subprocess
import sys

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from app.adapters.db import migrate
from app.adapters.db.engine import open_blocking_engine
from app.adapters.db.migrate import SchemaError
from app.process.metadata import metadata


def relations(url: str) -> set[tuple[str, str]]:
    """Return every table and index, but for alembic's own."""
    statement = b"""
        select relkind::text, relname from pg_class
        where relnamespace = 'public'::regnamespace and relname not like 'alembic_version%'
    """
    with psycopg.connect(url) as connection:
        return {(kind, name) for kind, name in connection.execute(statement)}


def differences(url: str) -> list[object]:
    """Return what alembic would still have to change to get from the database to the tables."""
    with open_blocking_engine(url).connect() as connection:
        options = {"compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        return list(compare_metadata(context, metadata))


def test_up_down_and_up_again(empty_database_url: str) -> None:
    url = empty_database_url
    migrate.upgrade(url)
    first = relations(url)
    assert {("r", table.name) for table in metadata.sorted_tables} <= first
    migrate.downgrade(url, "base")
    assert relations(url) == set()
    migrate.upgrade(url)
    assert relations(url) == first
    assert differences(url) == []


def test_the_tables_are_those_of_the_migrations(database_url: str) -> None:
    assert differences(database_url) == []


def test_vectors_are_stored_plain(database_url: str) -> None:
    """Alembic does not compare storage, so the migrations alone know it."""
    statement = b"""
        select attstorage from pg_attribute
        where attrelid = 'memory_vectors'::regclass and attname = 'vector'
    """
    with psycopg.connect(database_url) as connection:
        assert connection.execute(statement).fetchall() == [("p",)]


def test_pages_are_stored_as_they_are(database_url: str) -> None:
    statement = b"""
        select attstorage from pg_attribute
        where attrelid = 'task_pages'::regclass and attname = 'data'
    """
    with psycopg.connect(database_url) as connection:
        assert connection.execute(statement).fetchall() == [("e",)]


def test_processes_that_start_together_migrate_once(empty_database_url: str) -> None:
    command = ["env", f"MEMORY_BANK_DATABASE_URL={empty_database_url}"]
    command += [sys.executable, "-m", "app.process.cli", "migrate"]
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    migrate.check(empty_database_url)
    assert differences(empty_database_url) == []


def test_migrating_again_changes_nothing(empty_database_url: str) -> None:
    migrate.upgrade(empty_database_url)
    before = relations(empty_database_url)
    migrate.upgrade(empty_database_url)
    assert relations(empty_database_url) == before


def test_a_database_that_is_not_ready_is_refused(empty_database_url: str) -> None:
    with pytest.raises(SchemaError, match=r"lacks the `vector` extension"):
        migrate.check(empty_database_url)
    migrate.upgrade(empty_database_url)
    migrate.check(empty_database_url)
    migrate.downgrade(empty_database_url, "base")
    with pytest.raises(SchemaError, match=r"run `memory-bank migrate`"):
        migrate.check(empty_database_url)
