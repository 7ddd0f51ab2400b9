"""Periodic work with several schedulers: one run per slot."""

import asyncio
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from app.adapters.db.session import Database
from app.adapters.resources import Registry, Resources, Sweep
from app.kernel.clock import FixedClock
from app.platform.operations.store import queue
from app.platform.upkeep.jobs import SWEEP, sweep_once
from app.platform.upkeep.service import UpkeepService
from tests.support.queue import all_stored, enqueue, overwrite

pytestmark = pytest.mark.alone

# Slots of a year: no test crosses from one to the next.
_LONG = timedelta(days=365)


async def take(database: Database, interval: timedelta, name: str = "tick") -> bool:
    async with database.transaction() as session:
        return await queue.take_tick(session, name, interval)


async def test_one_of_many_takes_a_slot(database: Database) -> None:
    taken = await asyncio.gather(*(take(database, _LONG) for _ in range(12)))
    assert sum(taken) == 1
    assert await take(database, _LONG, "another")


async def test_each_slot_is_taken_once(database: Database) -> None:
    interval = timedelta(seconds=0.2)
    taken: list[bool] = []
    began = time.monotonic()

    async def scheduler() -> None:
        while time.monotonic() < began + 1:
            taken.append(await take(database, interval))
            await asyncio.sleep(0.01)

    await asyncio.gather(scheduler(), scheduler())
    # A second holds five whole slots, and parts of one more at either end; a busy machine may
    # miss some.
    slots = (time.monotonic() - began) / interval.total_seconds()
    assert 2 <= sum(taken) <= slots + 1


async def test_two_schedulers_sweep_once_per_slot(
    resources: Resources, database: Database, clock: FixedClock
) -> None:
    yearly = resources.settings.model_copy(update={"sweep_interval_seconds": 365 * 86_400.0})
    old = await enqueue(database, clock)
    await overwrite(database, old, state="SUCCEEDED", remove_time=clock.now())
    here, there = (replace(resources, settings=yearly) for _ in range(2))
    await asyncio.gather(sweep_once(here), sweep_once(there))
    assert await all_stored(database) == []
    await overwrite(database, await enqueue(database, clock), remove_time=clock.now())
    await asyncio.gather(sweep_once(here), sweep_once(there))
    assert len(await all_stored(database)) == 1
    assert not await UpkeepService(here).take_tick(SWEEP)


async def test_a_sweep_that_fails_keeps_no_other_from_running(resources: Resources) -> None:
    ran: list[str] = []

    async def fail(_: Resources) -> int:
        raise ValueError("a fact that a rule trips over")

    async def run(_: Resources) -> int:
        ran.append("second")
        return 0

    resources.registry.sweeps = (Sweep("first", fail), Sweep("second", run))
    await UpkeepService(resources).sweep()
    assert ran == ["second"]


async def test_without_registered_features_nothing_is_taken_for_done(resources: Resources) -> None:
    with pytest.raises(RuntimeError, match="not registered"):
        await UpkeepService(replace(resources, registry=Registry())).sweep()


def test_what_may_take_long_is_swept_last(resources: Resources) -> None:
    names = [sweep.name for sweep in resources.registry.sweeps]
    assert names[0] == "stranded streams"
    assert set(names[-2:]) == {"memories without traits", "stale vectors"}
