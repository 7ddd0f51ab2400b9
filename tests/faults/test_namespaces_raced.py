"""A namespace that others begin and delete at the very moment at which a request begins it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db.session import Database
from tests.support.bank import ok
from tests.support.faults import trigger
from tests.support.locks import until_waiting
from tests.support.tasks import NAMESPACE, store, text_output

_GATE = 7_411
_AT_THE_GATE = f"""
    if new.tool is distinct from 'other' then
        perform pg_advisory_lock_shared({_GATE});
        perform pg_advisory_unlock_shared({_GATE});
    end if;
"""
"""What makes each request wait that is about to begin a namespace."""
_BEGIN = text(
    "insert into task_namespaces"
    " (engine_id, memory, namespace, tool, version, create_time, update_time, expire_time)"
    " values (1, 'tools', 'n', 'other', 1, now(), now(), '3000-01-01')"
)
_HOLD = text("select 1 from task_namespaces for update")
_DELETE = text("delete from task_namespaces")


@asynccontextmanager
async def _closed(database: Database) -> AsyncIterator[None]:
    """Hold up who begins a namespace."""
    async with database.engine.connect() as connection:
        await connection.execute(text(f"select pg_advisory_lock({_GATE})"))
        await connection.commit()
        try:
            yield
        finally:
            await connection.execute(text(f"select pg_advisory_unlock({_GATE})"))
            await connection.commit()


async def _race(database: Database, gate: AsyncExitStack) -> None:
    """Begin the namespace before who waits at the gate does, and delete it behind it."""
    await until_waiting(database)
    async with database.transaction() as session:
        await session.execute(_BEGIN)
    async with database.transaction() as session:
        await session.execute(_HOLD)
        await gate.aclose()
        await until_waiting(database)
        # Who has found that it exists waits for it, and is to come to the gate again.
        await gate.enter_async_context(_closed(database))
        await session.execute(_DELETE)


@pytest.mark.parametrize("races", [1, 2])
async def test_who_loses_it_begins_it_after_all_or_is_told_to_send_it_again(
    client: httpx.AsyncClient, database: Database, races: int
) -> None:
    async with trigger(database, _AT_THE_GATE, at_commit=False, table="task_namespaces"):
        async with AsyncExitStack() as gate:
            await gate.enter_async_context(_closed(database))
            storing = asyncio.create_task(store(client, text_output("tea")))
            for _ in range(races):
                await _race(database, gate)
        answer = await storing
    if races == 1:
        ok(answer)
        assert ok(await client.get(NAMESPACE))["reference"]["count"] == 1
    else:
        assert answer.status_code == 409
        assert answer.json()["error"]["details"][0]["reason"] == "CONCURRENT_CHANGE"
