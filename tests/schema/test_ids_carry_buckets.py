"""The migration records the moment from which made ids carry their bucket."""

import psycopg

from app.adapters.db import migrate

_BEFORE = "d5a8c3e11000"


def test_the_moment_of_the_migration_is_the_only_row(empty_database_url: str) -> None:
    url = empty_database_url
    migrate.upgrade(url)
    migrate.downgrade(url, _BEFORE)
    with psycopg.connect(url) as connection:
        begun = connection.execute(
            b"select (extract(epoch from clock_timestamp()) * 1000)::float8"
        ).fetchone()
    migrate.upgrade(url)
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            b"select milliseconds, (extract(epoch from clock_timestamp()) * 1000)::float8"
            b" from ids_carry_buckets_from"
        ).fetchall()
    assert begun is not None
    ((moment, ended),) = rows
    assert begun[0] <= moment <= ended + 1
