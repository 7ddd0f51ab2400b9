"""Databases of their own, beside the one that all tests share."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from sqlalchemy import make_url


@contextmanager
def database_beside(url: str, name: str) -> Iterator[str]:
    """Create an empty database on the same server for the length of the block; give its address."""
    _run(url, f"create database {name}")
    try:
        yield make_url(url).set(database=name).render_as_string(hide_password=False)
    finally:
        _run(url, f"drop database {name} with (force)")


def _run(url: str, statement: str) -> None:
    # On a connection of its own: some tests cut every one that is open.
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


@pytest.fixture
def empty_database_url(database_url: str) -> Iterator[str]:
    with database_beside(database_url, "empty") as url:
        yield url


@pytest.fixture(scope="session")
def seeded_database_url(database_url: str) -> Iterator[str]:
    """A migrated database whose rows the module fills in."""
    with database_beside(database_url, "seeded") as url:
        yield url
