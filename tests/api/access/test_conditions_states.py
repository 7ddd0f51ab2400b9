"""What bound keys do with what is under way: operations that run, events that are set aside."""

from datetime import timedelta

import httpx
from sqlalchemy import select, update

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.memory.ingestion.store.tables import StreamEventRow, StreamRow
from app.platform.operations.store import leases
from app.platform.operations.store.tables import Owned
from tests.support.bank import GONE, Json, ok, refusal
from tests.support.bound import SCOPES
from tests.support.generation import said
from tests.support.ingestion import IDLE, TEA, ingest, read
from tests.support.operations import path_of
from tests.support.queue import claim

HOUR = timedelta(hours=1)


async def _running(client: httpx.AsyncClient, database: Database, clock: FixedClock) -> Owned:
    """Queue a generation of the other user, and take it as a worker does."""
    body: Json = {"scope": SCOPES["theirs"], **said("Hello.")}
    ok(await client.post("/memories:generate", json=body))
    return await _claimed(database, clock)


async def _claimed(database: Database, clock: FixedClock) -> Owned:
    claimed = await claim(database, clock, HOUR)
    assert claimed is not None
    return claimed.owned


async def test_an_operation_that_runs_is_cancelled_by_who_sees_it(
    bank: httpx.AsyncClient, mine: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    theirs = await _running(bank, database, clock)
    ok(await mine.post("/memories:generate", json={"scope": SCOPES["mine"], **said("Hello.")}))
    own = await _claimed(database, clock)
    foreign = await mine.post(f"/operations/{theirs.operation_id}:cancel")
    assert refusal(foreign) == GONE
    assert ok(await mine.post(f"/operations/{own.operation_id}:cancel")) == {}
    async with database.snapshot() as session:
        assert await leases.is_cancelled(session, own)
        assert not await leases.is_cancelled(session, theirs)


async def test_an_answer_tells_what_the_memory_was_like(mine: httpx.AsyncClient) -> None:
    body: Json = {"fact": "One.", "scope": SCOPES["mine"]}
    created = ok(await mine.post("/memories", json=body))
    path = path_of(created["response"]["name"])
    ok(await mine.patch(path, json={"fact": "Two."}))
    found = ok(await mine.get(path_of(created["name"])))
    assert found["response"]["fact"] == "One."


async def test_events_that_are_set_aside_are_taken_up_in_the_own_stream(
    bank: httpx.AsyncClient, mine: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    own = await ingest(mine, TEA, **IDLE)
    await ingest(bank, TEA, scope=SCOPES["theirs"], **IDLE)
    later = clock.now() + HOUR
    async with database.transaction() as session:
        await session.execute(update(StreamRow).values(aside_time=later))
        await session.execute(update(StreamEventRow).values(retry_time=later, batch_limit=1))
    again = await ingest(mine, "I live in Oslo.", **IDLE)
    assert again["name"] == own["name"]
    assert again["metadata"]["pendingEventCount"] == 2
    ok(
        await mine.post(
            "/memories:ingestEvents", json={"scope": SCOPES["mine"], "forceFlush": True}
        )
    )
    assert not (await read(mine, own))["done"]
    async with database.snapshot() as session:
        found = await session.execute(select(StreamRow.scope, StreamRow.aside_time))
        # The other user's waits as it did.
        assert {scope["user_id"]: until for scope, until in found} == {"42": None, "7": later}
