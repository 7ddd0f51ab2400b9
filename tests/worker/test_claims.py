"""Who may run an operation, told apart by Postgres alone: several connections, no other lock."""

import asyncio
import random
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, text

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.operations.store import leases
from app.platform.operations.store.leases import Claim
from tests.support.queue import KEEP, all_stored, claim, enqueue, finish, overwrite, stored

LEASE = timedelta(seconds=30)
ENDED = (datetime(2026, 1, 15, 13, tzinfo=UTC), KEEP)
"""When an operation ends that is given back and was to be cancelled."""
PAST = func.statement_timestamp() - timedelta(seconds=1)


async def claimed(database: Database, clock: FixedClock) -> Claim:
    found = await claim(database, clock)
    assert found is not None
    return found


async def test_the_oldest_is_taken_first(database: Database, clock: FixedClock) -> None:
    made = []
    for key in ("c", "a", "b"):
        made.append(await enqueue(database, clock, key=key))
        clock.advance(timedelta(seconds=1))
    taken = [(await claimed(database, clock)).owned.operation_id for _ in made]
    assert taken == made
    assert await claim(database, clock) is None


async def test_a_claim_carries_what_the_work_needs(database: Database, clock: FixedClock) -> None:
    operation = await enqueue(database, clock)
    found = await claimed(database, clock)
    row = await stored(database, operation)
    assert found.owned.operation_id == operation
    assert (found.request, found.attempts, found.kind) == ({"asked": "key"}, 1, row.kind)
    assert (row.state, row.owner, row.attempts) == ("RUNNING", found.owned.owner, 1)


async def test_what_is_not_yet_due_waits(database: Database, clock: FixedClock) -> None:
    operation = await enqueue(database, clock)
    await overwrite(database, operation, due_time=clock.now() + timedelta(seconds=5))
    assert await claim(database, clock) is None
    clock.advance(timedelta(seconds=5))
    assert (await claimed(database, clock)).owned.operation_id == operation


async def test_a_running_key_holds_back_its_own_only(database: Database, clock: FixedClock) -> None:
    first = await enqueue(database, clock, key="a")
    second = await enqueue(database, clock, key="a")
    # Later: of two engines whose work is equally old, either may come first.
    clock.advance(timedelta(seconds=1))
    elsewhere = await enqueue(database, clock, key="a", engine=2)
    other = await enqueue(database, clock, key="b")
    running = await claimed(database, clock)
    assert running.owned.operation_id == first
    assert {(await claimed(database, clock)).owned.operation_id for _ in "12"} == {elsewhere, other}
    assert await claim(database, clock) is None
    assert await finish(database, clock, running.owned)
    assert (await claimed(database, clock)).owned.operation_id == second


async def test_a_retry_that_waits_does_not_hold_its_key(
    database: Database, clock: FixedClock
) -> None:
    first = await enqueue(database, clock)
    second = await enqueue(database, clock)
    running = await claimed(database, clock)
    async with database.transaction() as session:
        later = clock.now() + timedelta(seconds=9)
        await leases.retry(session, running.owned, ENDED, later, {"message": "Try later."})
    assert (await claimed(database, clock)).owned.operation_id == second
    row = await stored(database, first)
    assert (row.state, row.owner, row.details["lastError"]) == ("PENDING", None, "Try later.")


async def test_an_expired_lease_is_taken_over(database: Database, clock: FixedClock) -> None:
    operation = await enqueue(database, clock)
    lost = await claimed(database, clock)
    assert await claim(database, clock) is None
    await overwrite(database, operation, lease_until=PAST)
    heir = await claimed(database, clock)
    assert (heir.owned.operation_id, heir.attempts) == (operation, 2)
    assert not await finish(database, clock, lost.owned)
    assert (await stored(database, operation)).state == "RUNNING"
    assert await finish(database, clock, heir.owned)
    row = await stored(database, operation)
    assert (row.state, row.attempts, row.request) == ("SUCCEEDED", 2, None)
    assert row.remove_time == clock.now() + KEEP


async def test_leases_end_by_the_clock_of_the_database(
    database: Database, clock: FixedClock
) -> None:
    await enqueue(database, clock)
    assert await claim(database, clock, timedelta(seconds=0.05)) is not None
    assert await claim(database, clock) is None
    await asyncio.sleep(0.1)
    # A hint has a time of the database, which is not the test's: only a look at all finds this.
    async with database.transaction() as session:
        await session.execute(text("delete from ticks"))
    assert await claim(database, clock) is not None


async def test_a_renewed_lease_is_not_taken(database: Database, clock: FixedClock) -> None:
    operation = await enqueue(database, clock)
    running = await claimed(database, clock)
    await overwrite(database, operation, lease_until=PAST)
    async with database.transaction() as session:
        assert await leases.renew(session, running.owned, LEASE) is False
    assert await claim(database, clock) is None
    await overwrite(database, operation, owner="thief")
    async with database.transaction() as session:
        assert await leases.renew(session, running.owned, LEASE) is None


async def test_a_released_operation_has_lost_no_attempt(
    database: Database, clock: FixedClock
) -> None:
    operation = await enqueue(database, clock)
    running = await claimed(database, clock)
    async with database.transaction() as session:
        await leases.release(session, running.owned, ENDED)
    row = await stored(database, operation)
    assert (row.state, row.owner, row.lease_until, row.attempts) == ("PENDING", None, None, 0)
    assert (await claimed(database, clock)).attempts == 1


async def test_what_is_given_back_after_a_cancellation_has_ended(
    database: Database, clock: FixedClock
) -> None:
    operation = await enqueue(database, clock)
    running = await claimed(database, clock)
    await overwrite(database, operation, cancel_requested=True)
    async with database.transaction() as session:
        await leases.release(session, running.owned, ENDED)
    row = await stored(database, operation)
    assert (row.state, row.request, row.owner) == ("CANCELLED", None, None)
    assert (row.update_time, row.remove_time) == (ENDED[0], ENDED[0] + ENDED[1])


async def test_only_the_owner_writes(database: Database, clock: FixedClock) -> None:
    operation = await enqueue(database, clock)
    lost = (await claimed(database, clock)).owned
    await overwrite(database, operation, owner="thief")
    async with database.transaction() as session:
        await leases.release(session, lost, ENDED)
        await leases.retry(session, lost, ENDED, clock.now(), {"message": "no"})
        assert not await leases.is_cancelled(session, lost)
    row = await stored(database, operation)
    assert (row.state, row.owner, row.attempts) == ("RUNNING", "thief", 1)
    assert "lastError" not in row.details


@pytest.mark.parametrize("seed", [1])
async def test_twelve_claimers_run_each_once_and_no_two_of_a_key(
    database: Database, clock: FixedClock, seed: int
) -> None:
    chance = random.Random(seed)
    made = [await enqueue(database, clock, key=f"k{chance.randrange(5)}") for _ in range(200)]
    keys = {row.operation_id: row.key for row in await all_stored(database)}
    running: set[str | None] = set()
    runs: list[str] = []

    async def work() -> None:
        while len(runs) < len(made):
            found = await claim(database, clock)
            if found is None:
                await asyncio.sleep(0.002)
                continue
            key = keys[found.owned.operation_id]
            assert key not in running, f"two of {key} at once"
            running.add(key)
            runs.append(found.owned.operation_id)
            await asyncio.sleep(chance.random() / 500)
            running.remove(key)
            assert await finish(database, clock, found.owned)

    async with asyncio.timeout(60), asyncio.TaskGroup() as claimers:
        for _ in range(12):
            claimers.create_task(work())
    assert sorted(runs) == sorted(made)
    rows = await all_stored(database)
    assert {(row.state, row.attempts) for row in rows} == {("SUCCEEDED", 1)}
