"""Erasures beside work that changes the same keys, revisions, engines or scopes."""

import asyncio
from contextvars import Context
from datetime import timedelta

import httpx
from sqlalchemy import select, text

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.names import EngineName
from app.platform.access.store import ApiKeyRow, hold
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.operations.services.runner import Runner
from tests.support.bank import ENGINE, ENGINE_URL, Json, ok
from tests.support.engines import API, FIRST, create_engine
from tests.support.keys import make_key
from tests.support.locks import until_waiting
from tests.support.operations import create_memory, path_of

_ANNA, _BOB = {"user_id": "anna"}, {"user_id": "bob"}


async def _start(client: httpx.AsyncClient, scope: Json, engine: str = ENGINE_URL) -> str:
    name: str = ok(await client.post(f"{engine}:eraseScope", json={"scope": scope}))["name"]
    return name


async def _conditions(database: Database) -> list[object]:
    async with database.snapshot() as session:
        return list((await session.execute(select(ApiKeyRow.scope_conditions))).scalars())


def _working(runner: Runner) -> asyncio.Task[int]:
    """Run what is due beside the open transaction of the test."""
    return asyncio.create_task(runner.run_pending(), context=Context())


async def test_two_erasures_leave_neither_person_in_a_key(
    client: httpx.AsyncClient, runner: Runner, database: Database, clock: FixedClock
) -> None:
    """Erasures of two engines narrow the same key, one after the other."""
    other = f"{API}/{(await create_engine(client))['name']}"
    both = {"user_id": ["anna", "bob"]}
    await make_key(database, clock.now(), "viewer", scope_conditions=both)
    await _start(client, _ANNA)
    await _start(client, _BOB, other)
    async with database.transaction() as session:
        await hold(session)
        workers = [_working(runner), _working(runner)]
        await until_waiting(database, 2)
    await asyncio.gather(*workers)
    assert {"user_id": []} in await _conditions(database)


async def test_an_erasure_ends_with_its_engine(
    client: httpx.AsyncClient, runner: Runner, database: Database, clock: FixedClock
) -> None:
    """An erasure that outlives its engine has no scope any more, which is not everything."""
    bound = {"user_id": ["anna"]}
    await make_key(database, clock.now(), "viewer", scope_conditions=bound)
    name = await _start(client, _ANNA)
    later = text("update operations set due_time = :later where engine_id = 1")
    async with database.transaction() as session:
        await session.execute(later, {"later": clock.now() + timedelta(days=1)})
    ok(await client.delete(FIRST, params={"force": True}))
    await runner.run_pending()
    clock.advance(timedelta(days=2))
    await runner.run_pending()
    ended = ok(await client.get(f"{API}/{name}"))
    assert ended["error"]["code"] == 5
    assert bound in await _conditions(database)


async def test_a_scan_masks_while_no_erasure_looks(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    """Either would write back what the other has taken out of a revision."""
    await create_memory(client, "Mail me at anna.k@example.com.", _ANNA)
    body = {"action": "MASK", "kinds": ["EMAIL"]}
    name = ok(await client.post(f"{ENGINE_URL}:scanPrivacy", json=body))["name"]
    async with database.transaction() as session:
        await engines.get(session, EngineName.parse(ENGINE), Lock.UPDATE)
        worker = _working(runner)
        await until_waiting(database)
    await worker
    assert ok(await client.get(path_of(name)))["response"]["counts"]["memories"] == {"EMAIL": 1}
