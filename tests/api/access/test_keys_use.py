"""When a key was last used: told to the minute, and never at the cost of a request."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import psycopg
import pytest
from fastapi import FastAPI
from sqlalchemy import make_url
from structlog.testing import capture_logs

from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.access import store
from app.platform.access.services.access import AccessService
from app.process.main import create_app
from app.settings.settings import Settings
from tests.conftest import START
from tests.support.bank import ok, wire
from tests.support.engines import FIRST
from tests.support.keys import client_with, id_of, make_key
from tests.support.statements import statements_on

_PATH = "http://test/v1/keys/"


async def _use(app: FastAPI, secret: str) -> None:
    async with client_with(app, secret) as holder:
        assert (await holder.get(FIRST)).status_code == 200
    await _settled(app)


async def _settled(app: FastAPI) -> None:
    access: AccessService = app.state.authenticator
    await access.uses.settle()


async def _last_use(client: httpx.AsyncClient, secret: str) -> Any:
    return ok(await client.get(_PATH + id_of(secret))).get("lastUseTime")


async def test_the_last_use_is_told_to_the_minute(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
) -> None:
    secret = await make_key(database, clock.now(), "viewer")
    assert await _last_use(client, secret) is None
    await _use(app, secret)
    assert await _last_use(client, secret) == wire(START)
    clock.advance(timedelta(seconds=59))
    await _use(app, secret)
    assert await _last_use(client, secret) == wire(START)
    clock.advance(timedelta(seconds=1))
    await _use(app, secret)
    assert await _last_use(client, secret) == wire(START + timedelta(minutes=1))


async def test_a_minute_costs_one_write_however_many_requests_and_processes(
    resources: Resources, database: Database, clock: FixedClock
) -> None:
    secret = await make_key(database, clock.now(), "viewer")
    apps = [create_app(resources), create_app(resources)]
    with statements_on(database, "UPDATE api_keys") as writes:
        for _ in range(40):
            for app in apps:
                await _use(app, secret)
            clock.advance(timedelta(seconds=1))
    assert len(writes) == 1


async def test_a_request_that_is_refused_is_no_use(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
) -> None:
    secret = await make_key(database, clock.now(), "viewer", expire_time=clock.now())
    async with client_with(app, secret) as holder:
        assert (await holder.get(FIRST)).status_code == 401
    await _settled(app)
    assert await _last_use(client, secret) is None


async def test_a_key_that_may_not_do_it_was_used_all_the_same(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
) -> None:
    secret = await make_key(database, clock.now(), permissions=["metrics.get"])
    async with client_with(app, secret) as holder:
        assert (await holder.get(FIRST)).status_code == 403
    await _settled(app)
    assert await _last_use(client, secret) == wire(START)


async def test_a_use_is_not_written_while_someone_changes_the_key_and_nobody_waits(
    database: Database, database_url: str, clock: FixedClock
) -> None:
    access = AccessService(database, clock)
    held, free = [await make_key(database, clock.now(), "viewer") for _ in range(2)]
    with psycopg.connect(database_url) as other:
        other.execute("select 1 from api_keys where key_id = %s for update", [id_of(held)])
        for secret in (held, free):
            await access.authenticate(secret)
        await access.uses.settle()
    async with database.snapshot() as session:
        assert (await store.get(session, id_of(held))).last_use_time is None
        assert (await store.get(session, id_of(free))).last_use_time == START


@pytest.fixture
async def read_only(database_url: str, settings: Settings) -> AsyncIterator[Database]:
    """The database as someone sees it who may change nothing."""
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(b"create role reader login")
        owner.execute(b"grant select on all tables in schema public to reader")
        reader = make_url(database_url).set(username="reader").render_as_string()
        found = Database(open_engine(reader, settings))
        yield found
        await found.close()
        owner.execute(b"drop owned by reader")
        owner.execute(b"drop role reader")


@pytest.mark.plain_postgres("has a role of one server, by a URL")
async def test_a_database_that_takes_no_writes_lets_keys_in(
    database: Database, read_only: Database, clock: FixedClock
) -> None:
    secret = await make_key(database, clock.now(), "viewer")
    access = AccessService(read_only, clock)
    with capture_logs() as lines:
        for _ in range(3):
            assert (await access.authenticate(secret)).key_id == id_of(secret)
            await access.uses.settle()
    # The database's refusal is told once, by itself.
    events = [line["event"] for line in lines]
    assert sorted(events) == ["database.statement_refused", "keys.use_not_written"]
