"""Recording of model usage by requests, successful or not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import structlog

from app.adapters.db.session import Session
from app.adapters.llm.ports import Meter
from app.adapters.resources import Resources
from app.kernel.errors import describe
from app.kernel.names import EngineName
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.operations.services.runner import Job
from app.platform.usage.logic import costs
from app.platform.usage.store import repository

log = structlog.get_logger()

MAX_NOTE_SECONDS = 5
"""Limit for recording the costs of stopped work, since the cancelling side waits."""


async def finish_in_time(recording: asyncio.Task[None]) -> bool:
    """Wait for a task that records costs; cancel it and return False if that takes too long.

    A second cancellation does not interrupt the task.
    """
    _, late = await asyncio.wait([recording], timeout=MAX_NOTE_SECONDS)
    for task in late:
        task.cancel()
    return not late


@asynccontextmanager
async def recorded(
    resources: Resources, engine: EngineName, meter: Meter, kind: str
) -> AsyncIterator[None]:
    """Add the usage that the block has put into `meter` to its engine's day, even on failure.

    `kind` is the kind of an operation, or one of `logic/grouping.py`.

    No transaction may be open: this opens one after the block.
    """
    recording = _Recording(resources, engine, meter, kind)
    try:
        yield
    except BaseException:
        await _wait_for_recording(asyncio.create_task(recording.now()))
        raise
    noting = asyncio.create_task(recording.now())
    try:
        # Unlike `await noting`, this does not cancel the task if the request is cancelled.
        await asyncio.wait([noting])
    except BaseException:
        await _wait_for_recording(noting)
        raise
    if resources.db.is_primary_away:
        # The answer exists and is paid for: return it, even if the costs are not recorded.
        await _wait_for_recording(noting)
        return
    noting.result()


async def _wait_for_recording(noting: asyncio.Task[None]) -> None:
    """Wait for the task that records the costs, and log its failure.

    A failure of the recording does not replace the error that stopped the request.
    """
    if await finish_in_time(noting) and (error := noting.exception()) is not None:
        log.warning("usage.costs_not_recorded", error=describe(error))


@dataclass(frozen=True)
class _Recording:
    resources: Resources
    engine: EngineName
    meter: Meter
    kind: str

    async def now(self) -> None:
        resources = self.resources
        async with resources.db.transaction() as session:
            engine = await engines.get(session, self.engine, Lock.SHARED)
            prices = resources.settings.model_prices
            now = resources.clock.now()
            meter, kind = self.meter, self.kind
            await repository.record(session, engine.engine_id, now, meter, prices, kind)


async def note(job: Job, session: Session, details: dict[str, Any]) -> None:
    """Add the costs of an attempt to the costs of earlier ones in the operation's metadata."""
    await job.note(session, costs.with_earlier(details, job.claim.details))
