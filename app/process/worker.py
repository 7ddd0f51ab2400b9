"""The worker: runs operations of every kind, and the periodic sweeps."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from app.adapters.db.listen import listen
from app.adapters.resources import Resources
from app.artifacts.tasks import jobs as tasks
from app.artifacts.tasks.store.indexing import EMBED, INDEX
from app.conversation.summaries import jobs as summaries
from app.conversation.summaries.services.queue import REGENERATE, SUMMARIZE
from app.kernel.errors import ServiceError
from app.kernel.failures import describe
from app.memory.generation import jobs as generation
from app.memory.generation.services.generation import GENERATE, PREVIEW
from app.memory.ingestion import jobs as ingestion
from app.memory.ingestion.services.ingestion import INGEST, IngestionService
from app.memory.reembedding import jobs as reembedding
from app.memory.reembedding.services.reembedding import REEMBED, ReembeddingService
from app.memory.reembedding.services.work import Backlog
from app.memory.retention import jobs as retention
from app.memory.retention.service import DELETE_ENGINE, RetentionService
from app.memory.retrieval.jobs import IndexSweep
from app.memory.undo import jobs as undo
from app.memory.undo.services.undo import UNDO
from app.platform.operations.services.runner import JobFunction, Runner
from app.platform.operations.store import repository as operations

log = structlog.get_logger()

_RESTART_SECONDS = 1.0
SWEEP = "retention.sweep"
"""The name of the sweeps' tick."""


def make_runner(resources: Resources) -> Runner:
    """Build the runner with every kind of job."""
    jobs: dict[str, JobFunction] = {
        GENERATE: partial(generation.generate, resources=resources),
        PREVIEW: partial(generation.generate, resources=resources),
        INGEST: partial(ingestion.ingest, resources=resources),
        DELETE_ENGINE: partial(retention.delete_engine, resources=resources),
        UNDO: partial(undo.undo, resources=resources),
        SUMMARIZE: partial(summaries.summarize, resources=resources),
        REGENERATE: partial(summaries.regenerate, resources=resources),
        REEMBED: partial(reembedding.reembed, resources=resources),
        INDEX: partial(tasks.index, resources=resources),
        EMBED: partial(tasks.embed, resources=resources),
    }
    return Runner(resources.db, resources.clock, resources.settings, jobs)


@asynccontextmanager
async def working(resources: Resources) -> AsyncIterator[None]:
    """Run the worker beside the block; when the block ends, let running work end in time."""
    runner = make_runner(resources)
    scheduler = _scheduler(resources)
    tasks = [
        asyncio.create_task(_kept_running(runner)),
        *_listening(resources, runner.wake),
    ]
    scheduler.start()
    try:
        yield
    finally:
        scheduler.shutdown(wait=False)
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task


async def _kept_running(runner: Runner) -> None:
    """Run the runner, again should it ever end with an error: clients wait for what it does."""
    while True:
        try:
            await runner.run()
        except Exception as error:  # noqa: BLE001 - nothing may end the worker but its process
            log.critical("worker.restarted", error=describe(error))
            await asyncio.sleep(_RESTART_SECONDS)


def _listening(resources: Resources, wake: Callable[[], None]) -> list[asyncio.Task[None]]:
    """Listen for new operations, unless only a pooler can be reached: it drops notifications."""
    settings = resources.settings
    if settings.listen_url is not None:
        url = settings.listen_url.get_secret_value()
    elif settings.database_behind_pooler:
        return []
    else:
        url = resources.database_url
    return [asyncio.create_task(listen(url, operations.CHANNEL, wake))]


def _scheduler(resources: Resources) -> AsyncIOScheduler:
    scheduler = AsyncIOScheduler(timezone="UTC")
    scheduler.add_job(
        embed_once,
        "interval",
        args=[resources],
        seconds=resources.settings.embedding_retry_seconds,
        coalesce=True,
        misfire_grace_time=None,
    )
    scheduler.add_job(
        sweep_once,
        "interval",
        args=[resources],
        seconds=resources.settings.sweep_interval_seconds,
        # A late or overlapping tick is no harm: the claim row decides who runs.
        coalesce=True,
        misfire_grace_time=None,
    )
    scheduler.add_job(
        IndexSweep(resources).run_due,
        "interval",
        seconds=resources.settings.scope_index_interval_seconds,
        coalesce=True,
        misfire_grace_time=None,
    )
    return scheduler


async def embed_once(resources: Resources) -> None:
    """Embed what waits for its vector; of several processes, each takes other memories."""
    try:
        await Backlog(resources).run()
    except ServiceError as error:
        log.warning("embedding.failed", reason=error.reason)


async def sweep_once(resources: Resources) -> None:
    """Sweep, unless another process has this tick, or the clock of this one is wrong.

    What goes for good goes by the database's clock in any case; that such a process rests as well
    leaves the tick to one whose clock is right.
    """
    if resources.skew.is_too_large:
        return
    retention_service = RetentionService.of(resources)
    try:
        if not await retention_service.take_tick(SWEEP):
            return
        await IngestionService.of(resources).reopen()
        await retention_service.sweep()
        await ReembeddingService.of(resources).remove_stale()
    except ServiceError as error:
        log.warning("sweep.failed", reason=error.reason)
