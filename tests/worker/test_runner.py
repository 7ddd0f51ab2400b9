"""What becomes of an operation when its work succeeds, fails, or loses its lease."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from app.adapters.db.errors import is_unreached_state, unavailable
from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import (
    Aborted,
    DeadlineExceeded,
    InvalidArgument,
    Reason,
    ResourceExhausted,
    ServiceError,
    Unavailable,
)
from app.platform.operations.logic.states import type_url
from app.platform.operations.services.runner import Job, Postponed
from app.platform.operations.store import repository
from app.settings.settings import Settings
from tests.support.distributed import used_as_distributed
from tests.support.faults import RAISE
from tests.support.queue import KIND, all_stored, cancel, enqueue, overwrite, runner_of, stored

SECRET = "My password is hunter2."
TRIES = 4


@pytest.fixture
def settings(settings: Settings) -> Settings:
    short = {"worker_max_attempts": TRIES, "worker_retry_base_seconds": 10.0}
    return settings.model_copy(update=short)


async def succeed(job: Job) -> None:
    async with job.db.transaction() as session:
        await job.finish(
            session, {"@type": type_url("PurgeMemoriesResponse"), "purgeCount": 1}, {"noted": True}
        )


class Failing:
    """Work that fails with an error as often as it is told, then succeeds."""

    def __init__(self, error: Exception, times: int = 1_000) -> None:
        self.error = error
        self.left = times
        self.runs = 0

    async def __call__(self, job: Job) -> None:
        self.runs += 1
        if self.left == 0:
            return await succeed(job)
        self.left -= 1
        raise self.error


async def test_work_ends_its_operation(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    operation = await enqueue(database, clock)
    clock.advance(timedelta(seconds=3))
    assert await runner_of(database, clock, settings, succeed).run_pending() == 1
    row = await stored(database, operation)
    assert (row.state, row.request, row.owner, row.error) == ("SUCCEEDED", None, None, None)
    assert row.response == {"@type": type_url("PurgeMemoriesResponse"), "purgeCount": 1}
    assert row.details == {"@type": "test", "noted": True}
    assert (row.update_time, row.remove_time) == (
        clock.now(),
        clock.now() + settings.operation_retention,
    )


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (Unavailable, Reason.MODEL_UNAVAILABLE),
        *(
            (kind, Reason.CONCURRENT_CHANGE)
            for kind in (Unavailable, ResourceExhausted, DeadlineExceeded, Aborted)
        ),
    ],
)
async def test_what_may_pass_is_tried_again_later(
    database: Database,
    clock: FixedClock,
    settings: Settings,
    kind: type[ServiceError],
    reason: Reason,
) -> None:
    operation = await enqueue(database, clock)
    work = Failing(kind("It is away.", reason), times=2)
    runner = runner_of(database, clock, settings, work)
    for attempt, longest in enumerate((10, 20), start=1):
        assert await runner.run_pending() == 1
        row = await stored(database, operation)
        assert (row.state, row.attempts, row.owner) == ("PENDING", attempt, None)
        assert row.details["lastError"] == "It is away."
        assert row.error is None
        assert row.request == {"asked": "key"}
        delay = row.due_time - clock.now()
        assert timedelta(seconds=longest / 2) <= delay <= timedelta(seconds=longest)
        assert await runner.run_pending() == 0
        clock.advance(timedelta(seconds=longest))
    assert await runner.run_pending() == 1
    row = await stored(database, operation)
    assert (row.state, row.attempts, work.runs) == ("SUCCEEDED", 3, 3)


async def test_the_delay_does_not_grow_where_the_database_was_away(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    operation = await enqueue(database, clock)
    if database.is_distributed:
        pytest.skip("on several nodes, another one may be away for long")
    work = Failing(Unavailable("It is away.", Reason.DATABASE_UNAVAILABLE), times=3)
    runner = runner_of(database, clock, settings, work)
    base = timedelta(seconds=settings.tuning.worker_retry_base_seconds)
    for _ in range(3):
        assert await runner.run_pending() == 1
        assert (await stored(database, operation)).due_time - clock.now() <= base
        clock.advance(base)
    assert await runner.run_pending() == 1
    assert (await stored(database, operation)).state == "SUCCEEDED"


async def test_work_that_needs_a_node_is_tried_for_a_day_while_that_is_away(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    operation = await enqueue(database, clock)
    work = Failing(Unavailable("It is away.", Reason.DATABASE_UNAVAILABLE))
    seldom = settings.model_copy(update={"worker_retry_max_seconds": 3_600.0})
    runner = runner_of(database, clock, seldom, work)
    begin, delays = clock.now(), []
    with used_as_distributed(database):
        while (row := await stored(database, operation)).state == "PENDING":
            delays.append(row.due_time - clock.now())
            clock.advance(max(delays[-1], timedelta()))
            assert await runner.run_pending() == 1
    assert row.state == "FAILED"
    assert row.error is not None
    assert row.error["details"][0]["reason"] == "DATABASE_UNAVAILABLE"
    longest = timedelta(seconds=seldom.tuning.worker_retry_max_seconds)
    day = timedelta(days=1)
    assert day <= clock.now() - begin <= day + longest + TRIES * longest
    assert timedelta(seconds=5) <= delays[1] <= timedelta(seconds=10)
    assert longest / 2 <= max(delays) <= longest
    assert work.runs < 60


async def test_delays_have_a_longest(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    operation = await enqueue(database, clock)
    short = settings.model_copy(update={"worker_retry_max_seconds": 4.0})
    work = Failing(Unavailable("Away.", Reason.CONCURRENT_CHANGE))
    assert await runner_of(database, clock, short, work).run_pending() == 1
    delay = (await stored(database, operation)).due_time - clock.now()
    assert timedelta(seconds=2) <= delay <= timedelta(seconds=4)


async def test_what_cannot_pass_fails_at_once(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    operation = await enqueue(database, clock)
    error = InvalidArgument.of_field("scope", "is required.")
    assert await runner_of(database, clock, settings, Failing(error)).run_pending() == 1
    row = await stored(database, operation)
    assert (row.state, row.error, row.response) == ("FAILED", error.as_operation_error(), None)
    assert row.request is None


@pytest.mark.parametrize(
    "error",
    [
        DeadlineExceeded("No answer in time.", Reason.MODEL_TIMEOUT),
        ResourceExhausted("No more requests.", Reason.MODEL_RATE_LIMITED),
        Aborted("It keeps changing.", Reason.SCOPE_KEEPS_CHANGING),
    ],
)
async def test_what_has_been_tried_often_enough_is_final(
    database: Database, clock: FixedClock, settings: Settings, error: ServiceError
) -> None:
    operation = await enqueue(database, clock)
    assert await runner_of(database, clock, settings, Failing(error)).run_pending() == 1
    row = await stored(database, operation)
    assert (row.state, row.attempts, row.error) == ("FAILED", 1, error.as_operation_error())


async def test_what_is_postponed_waits_without_having_been_tried(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    operation = await enqueue(database, clock)
    later = clock.now() + timedelta(hours=12)
    runner = runner_of(database, clock, settings, Failing(Postponed(later), times=1))
    assert await runner.run_pending() == 1
    row = await stored(database, operation)
    assert (row.state, row.owner, row.attempts, row.due_time) == ("PENDING", None, 0, later)
    assert row.details == {"@type": "test", "postponedUntil": "2026-01-16T00:00:00Z"}
    clock.advance(timedelta(hours=12))
    assert await runner.run_pending() == 1
    assert (await stored(database, operation)).state == "SUCCEEDED"


async def test_the_last_attempt_fails_with_its_error(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    operation = await enqueue(database, clock)
    error = Unavailable("It is away.", Reason.CONCURRENT_CHANGE)
    work = Failing(error)
    runner = runner_of(database, clock, settings, work)
    for _ in range(TRIES + 2):
        await runner.run_pending()
        clock.advance(timedelta(minutes=10))
    row = await stored(database, operation)
    assert (row.state, row.attempts, work.runs) == ("FAILED", TRIES, TRIES)
    assert row.error == error.as_operation_error()


async def test_work_that_kills_its_workers_is_given_up(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    """No attempt could record an error, so only their number is known."""
    operation = await enqueue(database, clock)
    await overwrite(database, operation, attempts=TRIES)
    work = Failing(AssertionError("must not run"))
    assert await runner_of(database, clock, settings, work).run_pending() == 1
    row = await stored(database, operation)
    assert (row.state, work.runs) == ("FAILED", 0)
    assert row.error is not None
    assert row.error["code"] == 13
    assert row.error["details"][0]["reason"] == Reason.ATTEMPTS_EXHAUSTED


@pytest.mark.parametrize("error", [ValueError(SECRET), KeyError(SECRET)])
async def test_an_unexpected_error_tells_nothing_of_its_text(
    database: Database, clock: FixedClock, settings: Settings, error: Exception
) -> None:
    operation = await enqueue(database, clock)
    with capture_logs() as logs:
        await runner_of(database, clock, settings, Failing(error)).run_pending()
    row = await stored(database, operation)
    assert row.state == "FAILED"
    assert row.error is not None
    assert row.error["code"] == 13
    assert row.error["details"][0]["reason"] == Reason.INTERNAL
    assert "hunter2" not in f"{row.error} {row.details} {logs}"
    assert type(error).__name__ in str(logs)


async def refused(job: Job) -> None:
    async with job.db.transaction() as session:
        raising = RAISE.format(state="0A000")
        await session.execute(text(f"do $$ begin {raising} end $$"))


async def test_work_whose_statement_the_database_refuses_fails_at_once(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    operation = await enqueue(database, clock)
    assert await runner_of(database, clock, settings, refused).run_pending() == 1
    row = await stored(database, operation)
    assert (row.state, row.attempts) == ("FAILED", 1)
    assert row.error is not None
    assert row.error["code"] == 13


async def test_an_unknown_kind_fails_and_the_next_one_runs(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    unknown = await enqueue(database, clock, key="a", kind="from.the.future")
    known = await enqueue(database, clock, key="b")
    assert await runner_of(database, clock, settings, succeed).run_pending() == 2
    assert (await stored(database, unknown)).state == "FAILED"
    assert (await stored(database, known)).state == "SUCCEEDED"


async def test_effects_of_a_lost_lease_roll_back(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    operation = await enqueue(database, clock)

    async def lose_then_finish(job: Job) -> None:
        effect = repository.NewOperation(1, "effect", KIND, clock.now(), timedelta(1), {})
        await overwrite(database, operation, owner="thief")
        async with job.db.transaction() as session:
            await repository.insert_done(session, effect, {})
            await job.finish(session, {}, {})

    with capture_logs() as logs:
        await runner_of(database, clock, settings, lose_then_finish).run_pending()
    (row,) = await all_stored(database)
    assert (row.operation_id, row.state, row.owner) == (operation, "RUNNING", "thief")
    assert "operation.lease_lost" in [entry["event"] for entry in logs]


async def test_work_stops_when_its_lease_is_lost(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    operation = await enqueue(database, clock)
    ends: list[str] = []

    async def sleep(job: Job) -> None:
        await overwrite(database, operation, owner="thief")
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ends.append(job.claim.owned.operation_id)
            raise

    short = settings.model_copy(update={"worker_lease_seconds": 0.15})
    async with asyncio.timeout(5):
        await runner_of(database, clock, short, sleep).run_pending()
    row = await stored(database, operation)
    assert ends == [operation]
    assert (row.state, row.owner, row.attempts) == ("RUNNING", "thief", 1)


@pytest.mark.alone
async def test_work_longer_than_its_lease_is_not_taken_over(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    operation = await enqueue(database, clock)
    short = settings.model_copy(update={"worker_lease_seconds": 0.3})
    working = asyncio.Event()

    async def long(job: Job) -> None:
        working.set()
        await asyncio.sleep(1)
        await succeed(job)

    first = asyncio.create_task(runner_of(database, clock, short, long).run_pending())
    await working.wait()
    thief = Failing(AssertionError("must not run"))
    while not first.done():
        assert await runner_of(database, clock, short, thief).run_pending() == 0
        await asyncio.sleep(0.05)
    row = await stored(database, operation)
    assert (await first, row.state, row.attempts) == (1, "SUCCEEDED", 1)


async def test_cancelling_what_waits_ends_it(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    operation = await enqueue(database, clock)
    await cancel(database, clock, operation)
    work = Failing(AssertionError("must not run"))
    assert await runner_of(database, clock, settings, work).run_pending() == 0
    row = await stored(database, operation)
    assert (row.state, row.request, work.runs) == ("CANCELLED", None, 0)
    assert row.error is not None
    assert (row.error["code"], row.error["details"][0]["reason"]) == (1, Reason.OPERATION_CANCELLED)


async def test_cancelling_what_runs_stops_it_at_its_next_step(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    operation = await enqueue(database, clock)
    steps: list[str] = []

    async def work(job: Job) -> None:
        await job.step()
        steps.append("one")
        await cancel(database, clock, operation)
        assert (await stored(database, operation)).state == "RUNNING"
        await job.step()
        steps.append("two")

    await runner_of(database, clock, settings, work).run_pending()
    row = await stored(database, operation)
    assert (row.state, row.response, steps) == ("CANCELLED", None, ["one"])
    assert row.error is not None
    assert row.error["details"][0]["reason"] == Reason.OPERATION_CANCELLED


@pytest.mark.parametrize(
    "error",
    [
        Unavailable("It is away.", Reason.DATABASE_UNAVAILABLE),
        Postponed(datetime(2026, 1, 16, tzinfo=UTC)),
    ],
)
async def test_what_was_cancelled_is_not_tried_again(
    database: Database, clock: FixedClock, settings: Settings, error: Exception
) -> None:
    operation = await enqueue(database, clock)

    async def fail(_: Job) -> None:
        await cancel(database, clock, operation)
        raise error

    await runner_of(database, clock, settings, fail).run_pending()
    row = await stored(database, operation)
    assert (row.state, row.request, row.owner) == ("CANCELLED", None, None)
    assert row.error is not None
    assert row.error["details"][0]["reason"] == Reason.OPERATION_CANCELLED
    assert row.remove_time == clock.now() + settings.operation_retention


async def test_what_was_cancelled_under_a_killed_worker_is_not_run(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    operation = await enqueue(database, clock)
    await overwrite(database, operation, cancel_requested=True)
    work = Failing(AssertionError("must not run"))
    assert await runner_of(database, clock, settings, work).run_pending() == 1
    assert ((await stored(database, operation)).state, work.runs) == ("CANCELLED", 0)


async def test_cancelling_stops_work_that_takes_no_step(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    operation = await enqueue(database, clock)

    async def sleep(_: Job) -> None:
        await cancel(database, clock, operation)
        await asyncio.sleep(30)

    short = settings.model_copy(update={"worker_lease_seconds": 0.15})
    async with asyncio.timeout(5):
        await runner_of(database, clock, short, sleep).run_pending()
    assert (await stored(database, operation)).state == "CANCELLED"


async def test_what_only_tidies_up_is_never_asked_to_stop(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    operation = await enqueue(database, clock)
    await overwrite(database, operation, request=None)

    async def work(job: Job) -> None:
        await cancel(database, clock, operation)
        await job.step()
        await succeed(job)

    await runner_of(database, clock, settings, work).run_pending()
    assert (await stored(database, operation)).state == "SUCCEEDED"


async def test_the_next_attempt_knows_what_was_noted(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    operation = await enqueue(database, clock)
    known: list[dict[str, object]] = []

    async def work(job: Job) -> None:
        known.append(job.claim.details)
        async with job.db.transaction() as session:
            if job.claim.attempts == 1:
                await job.note(session, {"count": 1, "sum": 2})
                return
            # What is None goes.
            await job.finish(session, {}, {"count": 2, "sum": None})

    runner = runner_of(database, clock, settings, work)
    await runner.run_pending()
    await overwrite(database, operation, lease_until=clock.now())
    await runner.run_pending()
    assert known == [{"@type": "test"}, {"@type": "test", "count": 1, "sum": 2}]
    assert (await stored(database, operation)).details == {"@type": "test", "count": 2}


async def test_what_was_cancelled_before_it_ends_has_no_effects(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    operation = await enqueue(database, clock)

    async def work(job: Job) -> None:
        await cancel(database, clock, operation)
        effect = repository.NewOperation(1, "effect", KIND, clock.now(), timedelta(1), {})
        async with job.db.transaction() as session:
            await repository.insert_done(session, effect, {})
            await job.finish(session, {}, {})

    await runner_of(database, clock, settings, work).run_pending()
    (row,) = await all_stored(database)
    assert (row.operation_id, row.state, row.response) == (operation, "CANCELLED", None)


def test_a_slow_statement_and_a_full_disk_are_no_nodes_to_wait_for() -> None:
    slow = DeadlineExceeded("Slow.", Reason.DATABASE_UNAVAILABLE, metadata={"sqlstate": "57014"})
    assert not is_unreached_state(slow)
    assert not is_unreached_state(unavailable("53100"))
    assert is_unreached_state(unavailable())
