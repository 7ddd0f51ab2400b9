"""The queue of a distributed database: hints of engines with work, and looks at all engines.

No look over all engines happens, unless a test deletes the tick that says that one has just been.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from contextvars import Context
from copy import copy
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy import text
from typing_extensions import override

from app.adapters.concurrency import end
from app.adapters.db.fence import Fence
from app.adapters.db.server import Row
from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason, Unavailable
from app.platform.operations.logic.states import SOON
from app.platform.operations.services.claiming import Claiming
from app.platform.operations.services.runner import Job
from app.platform.operations.store import leases, waking
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.repository import insert as insert_operation
from app.platform.operations.store.waking import CHANNEL, Hint
from app.settings.settings import Settings
from tests.support.queue import (
    KEEP,
    all_stored,
    claim,
    enqueue,
    finish,
    overwrite,
    runner_of,
    stored,
)

pytestmark = pytest.mark.parametrize("database", ["distributed"], indirect=True)
LATER = timedelta(minutes=5)


async def hinted(database: Database) -> dict[int, datetime]:
    """Return the times of the engines that have work."""
    async with database.snapshot() as session:
        rows = await session.execute(text("select engine_id, due_time from due_engines"))
        return dict(rows.all())


async def run_sql(database: Database, statement: str) -> None:
    async with database.transaction() as session:
        await session.execute(text(statement))


async def enqueue_and_die(database: Database, clock: FixedClock, engine: int = 1) -> str:
    """Commit an operation as a process that is killed before it leaves the hint."""
    dying = copy(database)
    dying.fence = Fence()
    new = new_operation(clock, "key", engine)
    async with dying.transaction() as session:
        await insert_operation(session, new)
        dying.fence.close("another")
    return new.operation_id


def new_operation(clock: FixedClock, key: str, engine: int = 1) -> NewOperation:
    return NewOperation(engine, "engine", "test.work", clock.now(), KEEP, {}).queued(key, {})


async def test_the_hint_comes_after_the_commit_so_that_writers_do_not_wait_for_each_other(
    database: Database, clock: FixedClock
) -> None:
    async with asyncio.timeout(5), database.transaction() as session:
        await insert_operation(session, new_operation(clock, "a"))
        # In a context of its own, since transactions do not nest.
        other = enqueue(database, clock, key="b")
        await asyncio.get_running_loop().create_task(other, context=Context())
        await run_sql_apart(database, "delete from due_engines")
    assert await hinted(database) == {1: clock.now()}
    assert len(await all_stored(database)) == 2


async def run_sql_apart(database: Database, statement: str) -> None:
    work = run_sql(database, statement)
    await asyncio.get_running_loop().create_task(work, context=Context())


async def test_what_is_rolled_back_leaves_no_hint(database: Database, clock: FixedClock) -> None:
    with suppress(ZeroDivisionError):
        async with database.transaction() as session:
            await insert_operation(session, new_operation(clock, "a"))
            raise ZeroDivisionError
    assert await hinted(database) == {}


async def test_the_workers_are_told_of_the_engine(
    database: Database, database_url: str, clock: FixedClock
) -> None:
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        await connection.execute(f"listen {CHANNEL}".encode())
        await enqueue(database, clock, engine=7)
        async for notice in connection.notifies(timeout=5, stop_after=1):
            assert notice.payload == "7"
            return
    pytest.fail("no notice came")


async def test_a_hint_that_fails_does_not_fail_what_was_committed(
    database: Database, clock: FixedClock
) -> None:
    await enqueue_and_die(database, clock)
    assert (len(await all_stored(database)), await hinted(database)) == (1, {})


async def test_work_whose_hint_was_lost_is_found_by_the_look_at_all_engines(
    database: Database, clock: FixedClock
) -> None:
    lost = []
    for engine in (2, 1):
        lost.append(await enqueue_and_die(database, clock, engine))
        clock.advance(timedelta(seconds=1))
    assert await claim(database, clock) is None
    await run_sql(database, "delete from ticks")
    found = [await claim(database, clock) for _ in lost]
    assert [each and each.owned.operation_id for each in found] == lost
    assert await claim(database, clock) is None


async def test_one_worker_looks_at_all_engines_for_every_other(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    rarely = settings.model_copy(update={"worker_full_look_seconds": 300.0})
    await run_sql(database, "update ticks set last_slot = now() - interval '1 hour'")
    workers = [Claiming(database, clock, rarely) for _ in range(2)]
    assert await workers[0].claim() is None
    await enqueue_and_die(database, clock)
    assert [await worker.claim() for worker in workers] == [None, None]


async def test_a_worker_finds_lost_work_within_the_interval(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    async def succeed(job: Job) -> None:
        async with job.db.transaction() as session:
            await job.finish(session, {}, {})

    await run_sql(database, "delete from ticks")
    often = {"worker_full_look_seconds": 0.2, "worker_poll_seconds": 0.02}
    runner = runner_of(database, clock, settings.model_copy(update=often), succeed)
    working = asyncio.create_task(runner.run())
    try:
        await asyncio.sleep(0.1)
        operation = await enqueue_and_die(database, clock)
        async with asyncio.timeout(10):
            while (await stored(database, operation)).state != "SUCCEEDED":  # noqa: ASYNC110 - in Postgres
                await asyncio.sleep(0.01)
    finally:
        await end(working)


async def test_operations_of_several_engines_are_taken_in_the_order_of_their_times(
    database: Database, clock: FixedClock
) -> None:
    made = []
    for number, engine in enumerate((1, 1, 2, 1, 3, 2)):
        made.append(await enqueue(database, clock, engine=engine, key=str(number)))
        clock.advance(timedelta(seconds=1))
    taken = [await claim(database, clock) for _ in made]
    assert [each and each.owned.operation_id for each in taken] == made


async def test_engines_that_cannot_go_on_hold_back_no_other(
    database: Database, clock: FixedClock
) -> None:
    for engine in range(1, 20):
        await enqueue(database, clock, engine=engine)
        await enqueue(database, clock, engine=engine)
        assert await claim(database, clock) is not None
    # All their times are past again, as if hints had come; their keys are not free.
    await run_sql(database, "update due_engines set due_time = '2026-01-01'")
    free = await enqueue(database, clock, engine=20)
    found = await claim(database, clock)
    assert found is not None
    assert found.owned.operation_id == free


class NodeAway(Database):
    """A database of which the node with the operations of an engine is away, or silent.

    It answers some questions before.
    """

    def __init__(
        self, inner: Database, engine_id: int, *, is_silent: bool = False, answers: int = 0
    ) -> None:
        self.__dict__.update(vars(inner))
        self._engine_id = engine_id
        self._is_silent = is_silent
        self._answers = answers

    @override
    async def run(
        self,
        statement: bytes,
        values: Any,
        *,
        is_change: bool = False,
        options: Sequence[bytes] = (),
    ) -> Sequence[Row]:
        if b"from operations" in statement and self._engine_id in values:
            self._answers -= 1
            if self._answers >= 0:
                return await super().run(statement, values, is_change=is_change, options=options)
            if self._is_silent:
                await asyncio.Event().wait()
            raise Unavailable("The node is away.", Reason.DATABASE_UNAVAILABLE)
        return await super().run(statement, values, is_change=is_change, options=options)


async def test_an_engine_whose_node_is_away_holds_back_no_other(
    database: Database, clock: FixedClock
) -> None:
    await enqueue(database, clock, engine=1)
    clock.advance(timedelta(seconds=1))
    other = await enqueue(database, clock, engine=2)
    found = await claim(NodeAway(database, 1), clock)
    assert found is not None
    assert found.owned.operation_id == other
    assert (await hinted(database))[1] > clock.now()
    clock.advance(timedelta(seconds=5))
    assert await claim(database, clock) is not None


async def test_an_engine_whose_node_is_silent_is_left_alone_for_a_while(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    impatient = replace(settings.tuning, worker_silent_node_seconds=1.0)
    await enqueue(database, clock, engine=1)
    clock.advance(timedelta(seconds=1))
    other = await enqueue(database, clock, engine=2)
    silent = NodeAway(database, 1, is_silent=True)
    worker = Claiming(silent, clock, settings.model_copy(update={"tuning": impatient}))
    assert await worker.claim() is None
    found = await worker.claim()
    assert found is not None
    assert found.owned.operation_id == other
    assert (await hinted(database))[1] >= clock.now() + timedelta(seconds=30)


async def test_a_claim_is_kept_if_the_node_is_silent_afterwards(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    impatient = replace(settings.tuning, worker_silent_node_seconds=1.0)
    operation = await enqueue(database, clock, engine=1)
    silent = NodeAway(database, 1, is_silent=True, answers=1)
    worker = Claiming(silent, clock, settings.model_copy(update={"tuning": impatient}))
    found = await worker.claim()
    assert found is not None
    assert found.owned.operation_id == operation
    assert (await hinted(database))[1] == clock.now() + SOON


async def test_a_worker_does_not_sleep_while_others_leave_work_that_is_due(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    worker = Claiming(database, clock, settings)
    assert await worker.quiet_seconds() > 0
    await enqueue(database, clock)
    clock.advance(timedelta(seconds=1))
    assert await worker.quiet_seconds() < 0


async def test_an_engine_has_the_time_of_its_next_operation_or_lease(
    database: Database, clock: FixedClock
) -> None:
    operation = await enqueue(database, clock)
    claimed = await claim(database, clock)
    assert claimed is not None
    assert await hinted(database) == {1: (await stored(database, operation)).lease_until}
    async with database.transaction() as session:
        due = clock.now() + LATER
        ended = (clock.now(), KEEP)
        await leases.retry(session, claimed.owned, ended, due, {"message": "Try later."})
    assert await claim(database, clock) is None
    assert await hinted(database) == {1: due}
    clock.advance(LATER)
    claimed = await claim(database, clock)
    assert claimed is not None
    assert await finish(database, clock, claimed.owned)
    assert await claim(database, clock) is None
    assert await hinted(database) == {}


async def test_a_hint_that_comes_during_a_look_is_kept(
    database: Database, clock: FixedClock
) -> None:
    await waking.leave(database, {1: clock.now(), 2: clock.now()})
    read = sorted(await waking.read(database, clock.now(), []))
    assert [hint.engine_id for hint in read] == [1, 2]
    await waking.leave(database, {1: clock.now() + LATER})
    await waking.settle(database, read[0], None)
    await waking.settle(database, read[1], None)
    # One that was removed and left anew is another.
    await waking.leave(database, {2: clock.now()})
    await waking.settle(database, read[1], None)
    await waking.settle(database, Hint(1, read[0].touched), clock.now() + LATER)
    assert await hinted(database) == {1: clock.now(), 2: clock.now()}


async def test_what_is_made_due_sooner_is_found(database: Database, clock: FixedClock) -> None:
    """Each change leaves a hint of its own: there is no look at all engines here."""
    moved, woken = [await enqueue(database, clock, key=key) for key in "ab"]
    for operation in (moved, woken):
        await overwrite(database, operation, due_time=clock.now() + LATER)
    assert await claim(database, clock) is None
    async with database.transaction() as session:
        row = await leases.lock(session, 1, moved)
        assert row is not None
        await leases.reschedule(session, row, clock.now(), clock.now(), {})
    first = await claim(database, clock)
    assert await claim(database, clock) is None
    async with database.transaction() as session:
        await leases.run_now(session, 1, [woken], clock.now())
    second = await claim(database, clock)
    assert [each and each.owned.operation_id for each in (first, second)] == [moved, woken]
