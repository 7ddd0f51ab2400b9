"""The share of a worker's places: no engine and no caller holds the last of them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from app.adapters.concurrency import in_background
from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Job
from app.settings.settings import Settings
from tests.support.queue import enqueue, runner_of, stored

_PLACES = 4
_LONG_SECONDS = 10
_QUIET_SECONDS = 0.3
"""Time in which a worker with a free place would have taken what it may."""
_FLOOD = 12
_OTHER = 99


class _Work:
    """Operations that run until they are let go."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ending = asyncio.Event()
        self._running: set[str] = set()
        self.most = 0

    async def __call__(self, job: Job) -> None:
        operation = job.claim.owned.operation_id
        self._running.add(operation)
        self.most = max(self.most, len(self._running))
        try:
            await self._ending.wait()
            async with job.db.transaction() as session:
                await job.finish(session, {}, {})
        finally:
            self._running.discard(operation)

    def end(self) -> None:
        self._ending.set()

    async def until_running(self, count: int) -> set[str]:
        """Return what runs once that many do, and stays so."""
        async with asyncio.timeout(_LONG_SECONDS):
            while len(self._running) < count:  # noqa: ASYNC110 - of another task
                await asyncio.sleep(0.01)
        await asyncio.sleep(_QUIET_SECONDS)
        assert len(self._running) == count
        return set(self._running)

    async def until_ended(self, *operations: str) -> None:
        async with asyncio.timeout(_LONG_SECONDS):
            for operation in operations:
                while (await stored(self._database, operation)).state != "SUCCEEDED":  # noqa: ASYNC110 - in Postgres
                    await asyncio.sleep(0.01)


@pytest.fixture
def work(database: Database) -> _Work:
    return _Work(database)


@asynccontextmanager
async def _worker(
    database: Database, clock: FixedClock, settings: Settings, work: _Work, places: int = _PLACES
) -> AsyncIterator[None]:
    quick = {
        "worker_concurrency": places,
        "worker_poll_seconds": 0.02,
        "shutdown_grace_seconds": 0.2,
    }
    runner = runner_of(database, clock, settings.model_copy(update=quick), work)
    async with in_background(runner.run()):
        yield


async def _flood(database: Database, clock: FixedClock) -> list[str]:
    """Queue operations of one engine, each by a caller of its own."""
    return [
        await enqueue(database, clock, key=f"{number}", caller=f"caller-{number}")
        for number in range(_FLOOD)
    ]


async def test_one_engine_leaves_a_place_to_others(
    database: Database, clock: FixedClock, settings: Settings, work: _Work
) -> None:
    flood = await _flood(database, clock)
    async with _worker(database, clock, settings, work):
        assert await work.until_running(_PLACES - 1) <= set(flood)
        clock.advance(timedelta(seconds=1))
        other = await enqueue(database, clock, engine=_OTHER, caller="caller-0")
        assert other in await work.until_running(_PLACES)
        work.end()
        await work.until_ended(other, *flood)


async def test_one_caller_leaves_a_place_to_others_whatever_its_engines(
    database: Database, clock: FixedClock, settings: Settings, work: _Work
) -> None:
    flood = [
        await enqueue(database, clock, engine=number, caller="flooding")
        for number in range(1, _FLOOD + 1)
    ]
    async with _worker(database, clock, settings, work):
        assert await work.until_running(_PLACES - 1) <= set(flood)
        clock.advance(timedelta(seconds=1))
        # In an engine whose oldest operation is of the caller that is passed over.
        other = await enqueue(database, clock, key="other", engine=_FLOOD, caller="other")
        assert other in await work.until_running(_PLACES)
        work.end()
        await work.until_ended(other, *flood)


async def test_the_oldest_of_those_that_are_not_passed_over_comes_first(
    database: Database, clock: FixedClock, settings: Settings, work: _Work
) -> None:
    await _flood(database, clock)
    others = []
    for engine in (7, 5, 6):
        clock.advance(timedelta(seconds=1))
        others.append(await enqueue(database, clock, engine=engine, caller="b"))
    clock.advance(timedelta(seconds=1))
    async with _worker(database, clock, settings, work):
        running = await work.until_running(_PLACES)
    assert [other in running for other in others] == [True, False, False]


async def test_an_engine_alone_is_served_with_all_places_but_one(
    database: Database, clock: FixedClock, settings: Settings, work: _Work
) -> None:
    flood = await _flood(database, clock)
    async with _worker(database, clock, settings, work):
        await work.until_running(_PLACES - 1)
        work.end()
        await work.until_ended(*flood)
    assert work.most == _PLACES - 1


async def test_work_of_the_service_itself_is_of_no_caller(
    database: Database, clock: FixedClock, settings: Settings, work: _Work
) -> None:
    for engine in range(1, _PLACES + 1):
        await enqueue(database, clock, engine=engine)
    async with _worker(database, clock, settings, work):
        await work.until_running(_PLACES)


async def test_a_single_place_is_not_shared(
    database: Database, clock: FixedClock, settings: Settings, work: _Work
) -> None:
    flood = await _flood(database, clock)
    work.end()
    async with _worker(database, clock, settings, work, places=1):
        await work.until_ended(*flood)
    assert work.most == 1


async def test_of_two_places_an_engine_holds_one(
    database: Database, clock: FixedClock, settings: Settings, work: _Work
) -> None:
    flood = await _flood(database, clock)
    async with _worker(database, clock, settings, work, places=2):
        await work.until_running(1)
        clock.advance(timedelta(seconds=1))
        other = await enqueue(database, clock, engine=_OTHER, caller="b")
        assert other in await work.until_running(2)
        work.end()
        await work.until_ended(other, *flood)
