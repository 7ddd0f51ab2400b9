"""The worker: runs operations of all kinds and the periodic work of all features."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from app.adapters.concurrency import end, raise_if_cancelled
from app.adapters.db.own_connections import listen
from app.adapters.resources import Resources
from app.kernel.errors import describe
from app.platform.operations.services.runner import Runner
from app.platform.operations.store.waking import CHANNEL
from app.platform.processes.service import Activity
from app.process.features import FEATURES, jobs, register

log = structlog.get_logger()

_RESTART_SECONDS = 1.0
_RARER_ON_SHARDS = 5
"""Factor for the interval of ticks on a distributed database, since they query all shards."""


def make_runner(resources: Resources) -> Runner:
    """Build the runner with the jobs of all features."""
    retried = register(resources).registry.retries
    functions = {kind: partial(run, resources=resources) for kind, run in jobs().items()}
    return Runner(resources.db, resources.clock, resources.settings, functions, retried)


@asynccontextmanager
async def working(resources: Resources) -> AsyncIterator[None]:
    """Run the worker during the block; then give running work time to end."""
    # In a thread, because the rules take half a second to import.
    runner = await asyncio.to_thread(make_runner, resources)
    scheduler = make_scheduler(resources)
    tasks = [asyncio.create_task(_kept_running(runner)), *_listening(resources, runner)]
    scheduler.start()
    Activity.of(resources).count_running = runner.count_running
    resources.registry.is_working = runner.is_looking
    try:
        yield
    finally:
        scheduler.shutdown(wait=False)
        await end(*tasks)


async def _kept_running(runner: Runner) -> None:
    """Run the runner and restart it after an error, because clients wait for its operations."""
    while True:
        try:
            await runner.run()
        except Exception as error:  # noqa: BLE001 - nothing may end the worker but its process
            raise_if_cancelled()
            log.critical("worker.restarted", error=describe(error))
            await asyncio.sleep(_RESTART_SECONDS)


def _listening(resources: Resources, runner: Runner) -> list[asyncio.Task[None]]:
    """Listen for new operations, unless all connections use a pooler, which drops notifications."""
    settings = resources.settings
    if settings.listen_url is not None:
        url = settings.listen_url.get_secret_value()
    elif settings.database_behind_pooler:
        return []
    else:
        url = resources.database_url
    return [asyncio.create_task(listen(url, CHANNEL, runner.notices))]


def make_scheduler(resources: Resources) -> AsyncIOScheduler:
    """Build the scheduler with the ticks of all features without starting it."""
    scheduler = AsyncIOScheduler(timezone="UTC")
    times = _RARER_ON_SHARDS if resources.db.is_distributed else 1
    for tick in (tick for feature in FEATURES for tick in feature.ticks):
        scheduler.add_job(
            tick.start(resources),
            "interval",
            id=tick.name,
            seconds=times * tick.seconds(resources.settings),
            # Late or overlapping ticks are harmless: each one checks whether it is due.
            coalesce=True,
            misfire_grace_time=None,
        )
    return scheduler
