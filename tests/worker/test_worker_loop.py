"""The loop of a worker: how it wakes, how much it runs at once, how it stops."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime, timedelta

import psycopg
import pytest
from sqlalchemy import func, text

from app.adapters.concurrency import in_background
from app.adapters.db.own_connections import listen
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.operations.services.claiming import Claiming
from app.platform.operations.services.runner import Job, Runner
from app.platform.operations.store import leases, queue, waking
from app.platform.operations.store.waking import CHANNEL
from app.platform.upkeep.jobs import SWEEP
from app.process.worker import make_scheduler
from app.settings.settings import Settings
from tests.support.faults import end_other_connections
from tests.support.queue import all_stored, enqueue, overwrite, runner_of, stored

SLOW_POLL = {"worker_poll_seconds": 60.0}
_SOON_SECONDS = 60
_LOCK_QUEUE = "lock table operations, due_engines in access exclusive mode"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    quick = {"worker_poll_seconds": 0.02, "shutdown_grace_seconds": 0.2}
    return settings.model_copy(update=quick)


async def succeed(job: Job) -> None:
    async with job.db.transaction() as session:
        await job.finish(session, {}, {})


def running(runner: Runner) -> AbstractAsyncContextManager[None]:
    """Run the worker during the block, then stop it as a process that ends does."""
    return in_background(runner.run())


async def eventually(database: Database, operation: str, state: str) -> None:
    async with asyncio.timeout(_SOON_SECONDS):
        while (await stored(database, operation)).state != state:  # noqa: ASYNC110 - in Postgres
            await asyncio.sleep(0.01)


async def sessions_listening(database: Database) -> list[int]:
    statement = (
        "select pid from pg_stat_activity"
        " where query ilike 'listen%' and datname = current_database()"
    )
    async with database.snapshot() as session:
        return list((await session.execute(text(statement))).scalars())


async def until_listening(database: Database, holds: Callable[[list[int]], bool]) -> list[int]:
    async with asyncio.timeout(_SOON_SECONDS):
        while not holds(found := await sessions_listening(database)):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.01)
    return found


def listening(url: str, runner: Runner) -> AbstractAsyncContextManager[None]:
    return in_background(listen(url, CHANNEL, runner.notices))


async def test_polling_alone_finds_work(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    async with running(runner_of(database, clock, settings, succeed)):
        await asyncio.sleep(0.05)
        await eventually(database, await enqueue(database, clock), "SUCCEEDED")


async def test_a_notice_wakes_a_worker_between_polls(
    database: Database, database_url: str, clock: FixedClock, settings: Settings
) -> None:
    runner = runner_of(database, clock, settings.model_copy(update=SLOW_POLL), succeed)
    async with running(runner), listening(database_url, runner):
        await until_listening(database, bool)
        for _ in range(3):
            await eventually(database, await enqueue(database, clock), "SUCCEEDED")


async def test_without_a_notice_a_worker_sleeps_until_its_poll(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    """Shows that the test above would fail if nothing was notified."""
    runner = runner_of(database, clock, settings.model_copy(update=SLOW_POLL), succeed)
    async with running(runner):
        await asyncio.sleep(0.1)
        operation = await enqueue(database, clock)
        await asyncio.sleep(0.3)
        assert (await stored(database, operation)).state == "PENDING"


async def test_a_listener_whose_connection_is_cut_listens_again(
    database: Database, database_url: str, clock: FixedClock, settings: Settings
) -> None:
    runner = runner_of(database, clock, settings.model_copy(update=SLOW_POLL), succeed)
    async with running(runner), listening(database_url, runner):
        (cut,) = await until_listening(database, bool)
        async with database.transaction() as session:
            await session.execute(
                text("select pg_terminate_backend(cast(:pid as integer))"), {"pid": cut}
            )
        await until_listening(database, lambda found: bool(found) and cut not in found)
        await eventually(database, await enqueue(database, clock), "SUCCEEDED")


async def test_a_worker_that_hears_notices_looks_seldom(
    database: Database, database_url: str, clock: FixedClock, settings: Settings
) -> None:
    runner = runner_of(database, clock, settings, succeed)
    async with running(runner), listening(database_url, runner):
        await until_listening(database, bool)
        operation = await enqueue(database, clock)
        await eventually(database, operation, "SUCCEEDED")
        async with asyncio.timeout(_SOON_SECONDS):
            # Of this change there is no notice. After its work, the worker looks once by itself.
            await overwrite(database, operation, state="PENDING")
            await asyncio.sleep(0.5)
            while (await stored(database, operation)).state != "PENDING":
                await overwrite(database, operation, state="PENDING")
                await asyncio.sleep(0.5)
        await eventually(database, operation, "SUCCEEDED")


async def test_the_next_look_is_in_time_for_what_becomes_due_and_for_leases(
    database: Database, clock: FixedClock
) -> None:
    async def next_due() -> datetime | None:
        return await queue.next_due(database, clock.now())

    def after(seconds: float) -> datetime:
        return clock.now() + timedelta(seconds=seconds)

    assert await next_due() is None
    due, waiting, leased = [await enqueue(database, clock, key=key) for key in "abc"]
    assert await next_due() is None
    await overwrite(database, waiting, due_time=after(60))
    assert await next_due() == after(60)
    await overwrite(database, leased, state="RUNNING", owner="one", lease_until=after(30))
    assert await next_due() == after(30)
    await overwrite(database, due, due_time=after(1))
    assert await next_due() == after(1)


async def test_a_worker_looks_for_work_unless_it_hangs_or_is_full(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    async def work(job: Job) -> None:
        await ending.wait()
        await succeed(job)

    async def until_looking(*, expected: bool) -> None:
        async with asyncio.timeout(_SOON_SECONDS):
            while runner.is_looking() != expected:  # noqa: ASYNC110 - of another task
                await asyncio.sleep(0.01)

    ending = asyncio.Event()
    quick = {"worker_concurrency": 1, "worker_hung_seconds": 0.3}
    runner = runner_of(database, clock, settings.model_copy(update=quick), work)
    async with running(runner):
        await until_looking(expected=True)
        async with database.transaction() as session:
            await session.execute(text(_LOCK_QUEUE))
            await until_looking(expected=False)
        await until_looking(expected=True)
        operation = await enqueue(database, clock)
        await eventually(database, operation, "RUNNING")
        await asyncio.sleep(0.5)
        assert (runner.is_looking(), runner.count_running()) == (True, 1)
        ending.set()
        await eventually(database, operation, "SUCCEEDED")


async def test_as_many_run_at_once_as_the_setting_says(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    together: list[int] = []
    now = 0

    async def work(job: Job) -> None:
        nonlocal now
        now += 1
        together.append(now)
        await asyncio.sleep(0.1)
        now -= 1
        await succeed(job)

    # Of several engines: one alone leaves the last place free.
    made = [await enqueue(database, clock, engine=number) for number in range(7)]
    two = settings.model_copy(update={"worker_concurrency": 2})
    async with running(runner_of(database, clock, two, work)):
        for operation in made:
            await eventually(database, operation, "SUCCEEDED")
    assert max(together) == 2


async def test_a_stopped_worker_lets_work_end_within_the_grace_period(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    async def work(job: Job) -> None:
        await asyncio.sleep(0.3)
        await succeed(job)

    kind = settings.model_copy(update={"shutdown_grace_seconds": 5.0})
    operation = await enqueue(database, clock)
    async with running(runner_of(database, clock, kind, work)):
        await eventually(database, operation, "RUNNING")
        waiting = await enqueue(database, clock)
    assert (await stored(database, operation)).state == "SUCCEEDED"
    assert (await stored(database, waiting)).state == "PENDING"


async def test_a_stopped_worker_gives_back_what_does_not_end(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    ends: list[str] = []

    async def work(_: Job) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ends.append("stopped")

    operation = await enqueue(database, clock)
    async with running(runner_of(database, clock, settings, work)):
        await eventually(database, operation, "RUNNING")
    row = await stored(database, operation)
    assert (row.state, row.owner, row.lease_until, row.attempts) == ("PENDING", None, None, 0)
    assert ends == ["stopped"]
    assert await runner_of(database, clock, settings, succeed).run_pending() == 1


async def test_a_cancelled_run_of_what_is_due_gives_back_its_work_and_claims_no_more(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    async def work(_: Job) -> None:
        await asyncio.sleep(60)

    operation = await enqueue(database, clock)
    pending = asyncio.create_task(runner_of(database, clock, settings, work).run_pending())
    await eventually(database, operation, "RUNNING")
    pending.cancel()
    await asyncio.wait([pending], timeout=_SOON_SECONDS)
    assert pending.cancelled()
    assert (await stored(database, operation)).state == "PENDING"


async def test_a_worker_ends_although_its_cancellation_comes_back_as_an_error(
    database: Database, clock: FixedClock, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = asyncio.Event()

    async def fail(*_: object) -> None:
        try:
            reached.set()
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise psycopg.OperationalError("the connection is lost") from None

    monkeypatch.setattr(Claiming, "claim", fail)
    worker = asyncio.create_task(runner_of(database, clock, settings, succeed).run())
    await reached.wait()
    worker.cancel()
    await asyncio.wait([worker], timeout=_SOON_SECONDS)
    assert worker.cancelled()


async def test_the_only_worker_takes_back_what_died_with_its_process(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    """At the start of the embedded database nobody waits for the leases of the dead."""
    dead = [await enqueue(database, clock, key=key) for key in "ab"]
    for operation in dead:
        later = func.statement_timestamp() + timedelta(days=1)
        lost = {"state": "RUNNING", "owner": "dead", "lease_until": later, "attempts": 1}
        await overwrite(database, operation, **lost)
    assert await runner_of(database, clock, settings, succeed).run_pending() == 0
    async with database.transaction() as session:
        await leases.release_all(session)
    # A distributed database is never embedded, and its workers need a hint.
    await waking.leave(database, {1: clock.now()})
    assert await runner_of(database, clock, settings, succeed).run_pending() == 2
    assert [(row.state, row.attempts) for row in await all_stored(database)] == [
        ("SUCCEEDED", 2)
    ] * 2


async def test_a_worker_outlives_a_database_that_goes_away(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    async with running(runner_of(database, clock, settings, succeed)):
        await asyncio.sleep(0.1)
        await end_other_connections(database)
        operation = await enqueue(database, clock)
        # The hint may be lost with its connection; then a look at all engines finds the work.
        clock.advance(timedelta(seconds=settings.tuning.worker_full_look_seconds))
        await eventually(database, operation, "SUCCEEDED")


async def test_ticks_are_rarer_where_each_asks_every_shard(
    database: Database, resources: Resources
) -> None:
    sweep = make_scheduler(replace(resources, db=database)).get_job(SWEEP)
    times = 5 if database.is_distributed else 1
    seconds = times * resources.settings.tuning.sweep_interval_seconds
    assert sweep.trigger.interval == timedelta(seconds=seconds)
