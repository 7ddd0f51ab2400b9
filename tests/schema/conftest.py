"""Databases of their own, beside the one that all tests share."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import httpx
import psycopg
import pytest
from sqlalchemy import make_url

from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import SystemClock
from app.process.main import create_app
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.keys import client_with
from tests.support.scripted_models import ScriptedEmbedder


@contextmanager
def database_beside(url: str, name: str, template: str = "template1") -> Iterator[str]:
    """Create a database on the same server for the length of the block; give its address.

    It is empty, or a copy of another one that nobody uses.
    """
    _run(url, f"create database {name} template {template}")
    try:
        yield make_url(url).set(database=name).render_as_string(hide_password=False)
    finally:
        _run(url, f"drop database {name} with (force)")


@asynccontextmanager
async def service_on(
    url: str, settings: Settings
) -> AsyncIterator[tuple[Resources, httpx.AsyncClient]]:
    """A service on a database, and a client of its administrator."""
    database = Database(open_engine(url, settings))
    resources = Resources(settings, SystemClock(), database, url, ScriptedEmbedder())
    async with client_with(create_app(resources), ADMIN_KEY) as client:
        yield resources, client
    await resources.embedder.close()
    await database.close()


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
