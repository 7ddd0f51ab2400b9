"""The fence: a process that another schema awaits stops writing, and only then."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import psycopg
import pytest
from fastapi import FastAPI
from sqlalchemy import text

from app.adapters.db.engine import open_engine
from app.adapters.db.fence import LOCK
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.errors import Reason, Unavailable
from app.platform.processes.service import ProcessKind, beating
from app.process.main import create_app
from tests.api.processes.test_heartbeats import until_there
from tests.conftest import ADMIN_KEY
from tests.support.engines import FIRST
from tests.support.errors import refusal
from tests.support.keys import client_with
from tests.support.operations import USER

_CHANGED = (503, "UNAVAILABLE", Reason.SCHEMA_CHANGED)
_SOON_SECONDS = 60
_MARK = text(
    "insert into processes"
    " (process_id, kind, release, schema, host, pid, start_time, beat_time, running)"
    " values ('migration', 'MIGRATION', '9', 'other', 'h', 1, now(), now(), 0)"
)


@pytest.fixture
async def own(resources: Resources, database_url: str) -> AsyncIterator[Resources]:
    """The resources of a process of its own, whose fence no other test shares."""
    settings = resources.settings.model_copy(update={"process_beat_seconds": 0.01})
    database = Database(open_engine(database_url, settings))
    yield replace(resources, settings=settings, db=database)
    await database.close()


@pytest.fixture
def own_app(own: Resources) -> FastAPI:
    return create_app(own)


async def write(client: httpx.AsyncClient) -> httpx.Response:
    return await client.post(f"{FIRST}/memories", json={"scope": USER, "fact": "I like tea."})


async def test_only_a_migration_under_way_closes_it_and_reads_go_on(
    own: Resources, own_app: FastAPI, database: Database, database_url: str
) -> None:
    async with client_with(own_app, ADMIN_KEY) as client, beating(own, ProcessKind.API):
        await until_there(database, 1)
        async with database.transaction() as session:
            await session.execute(_MARK)
        await asyncio.sleep(0.2)
        assert not own.db.fence.closed.is_set(), "the mark of a migration that was killed"
        # The first takes the long way, the second the short one.
        assert [(await write(client)).status_code for _ in range(2)] == [200, 200]
        async with await psycopg.AsyncConnection.connect(database_url) as migrating:
            await migrating.execute(b"select pg_advisory_xact_lock(%d)" % LOCK)
            async with asyncio.timeout(_SOON_SECONDS):
                await own.db.fence.closed.wait()
        assert refusal(await write(client)) == _CHANGED
        assert (await client.get(f"{FIRST}/memories")).status_code == 200
        assert (await client.get("http://test/readyz")).status_code == 503
        assert (await client.get("http://test/healthz")).status_code == 200
        with pytest.raises(Unavailable):
            async with own.db.in_parts().transaction():
                pass


async def test_another_revision_of_the_database_closes_it(
    own: Resources, database: Database
) -> None:
    async with database.transaction() as session:
        current = (await session.execute(text("select version_num from alembic_version"))).scalar()
        await session.execute(text("update alembic_version set version_num = 'other'"))
    try:
        async with beating(own, ProcessKind.WORKER), asyncio.timeout(_SOON_SECONDS):
            await own.db.fence.closed.wait()
    finally:
        async with database.transaction() as session:
            statement = text("update alembic_version set version_num = :current")
            await session.execute(statement, {"current": current})
