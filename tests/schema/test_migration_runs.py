"""Runs of migrations beside others, and what an operator is told when one cannot be done."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import ProgrammingError

from app.adapters.db import fence, migrate
from app.adapters.db.migrate import SchemaError

_OTHER_RUN_SECONDS = 5.5
"""Longer than a migration waits for a table."""


def extensions(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        return {str(name) for (name,) in connection.execute(b"select extname from pg_extension")}


def test_a_run_waits_for_another_and_does_nothing_before(empty_database_url: str) -> None:
    with (
        ThreadPoolExecutor() as threads,
        psycopg.connect(empty_database_url) as other,
    ):
        other.execute("select pg_advisory_xact_lock(%s)", [fence.LOCK])
        run = threads.submit(migrate.upgrade, empty_database_url)
        time.sleep(_OTHER_RUN_SECONDS)
        waits = not run.done()
        before = extensions(empty_database_url)
        other.commit()
        run.result()
    assert waits
    assert "vector" not in before
    migrate.check(empty_database_url)


def test_a_run_that_another_keeps_waiting_too_long_says_so(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "LOCK_WAIT", "100ms")
    with psycopg.connect(empty_database_url) as other:
        other.execute("select pg_advisory_xact_lock(%s)", [fence.LOCK])
        with pytest.raises(SchemaError, match="maybe by another migration"):
            migrate.upgrade(empty_database_url)


def test_a_user_without_the_privilege_is_told_so(empty_database_url: str) -> None:
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute(b"create extension vector")
        connection.execute(b"create role stranger login")
        try:
            url = make_url(empty_database_url).set(username="stranger")
            with pytest.raises(SchemaError, match="lacks a privilege"):
                migrate.upgrade(url.render_as_string(hide_password=False))
        finally:
            connection.execute(b"drop role stranger")


def test_a_schema_of_a_newer_release_is_told(empty_database_url: str) -> None:
    migrate.upgrade(empty_database_url)
    with psycopg.connect(empty_database_url) as connection:
        connection.execute(b"update alembic_version set version_num = 'newer'")
    with pytest.raises(SchemaError, match="schema newer, likely of a later release"):
        migrate.upgrade(empty_database_url)
    with pytest.raises(SchemaError, match="Run that release"):
        migrate.check(empty_database_url)


def test_an_owner_who_may_not_create_the_extension_is_told_who_may(
    empty_database_url: str,
) -> None:
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute(b"create role owner login")
        connection.execute(b"grant all on schema public to owner")
        try:
            url = make_url(empty_database_url).set(username="owner").render_as_string()
            with pytest.raises(SchemaError, match=r"^A superuser has to run `create extension"):
                migrate.upgrade(url)
            connection.execute(b"create extension vector")
            migrate.upgrade(url)
        finally:
            connection.execute(b"drop owned by owner")
            connection.execute(b"drop role owner")


def test_a_failed_run_leaves_nothing(empty_database_url: str) -> None:
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute(b"create table engines (id int)")
        with pytest.raises(ProgrammingError, match="already exists"):
            migrate.upgrade(empty_database_url)
    assert "vector" not in extensions(empty_database_url)


@pytest.mark.alone
def test_an_address_that_stays_silent_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/nothing"
        began = time.monotonic()
        with pytest.raises(SchemaError, match="cannot be reached"):
            migrate.check(url, 2)
        assert time.monotonic() - began < 4


def test_an_operator_chooses_how_long_a_statement_may_take(empty_database_url: str) -> None:
    """A large bank may need longer than the ten minutes that are the rule."""
    migrate.upgrade(empty_database_url)
    migrate.downgrade(empty_database_url, "a9f3c8d41100")
    with psycopg.connect(empty_database_url) as connection:
        connection.execute(b"create table limits (value text)")
        connection.execute(b"""
            create function note_limit() returns trigger language plpgsql as $$ begin
                insert into limits values (current_setting('statement_timeout')); return new;
            end $$
        """)
        connection.execute(
            b"create trigger noted before insert on pseudonym_keys"
            b" for each row execute function note_limit()"
        )
    for seconds in (migrate.STATEMENT_SECONDS, 7, 0):
        migrate.upgrade(empty_database_url, statement_seconds=seconds)
        migrate.downgrade(empty_database_url, "a9f3c8d41100")
    with psycopg.connect(empty_database_url) as connection:
        noted = connection.execute(b"select value from limits").fetchall()
    assert noted == [("10min",), ("7s",), ("0",)]
