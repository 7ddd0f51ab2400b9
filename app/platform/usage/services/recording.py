"""Records what requests have models do, whatever becomes of the requests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import structlog

from app.adapters.db.session import Session
from app.adapters.llm.ports import Meter
from app.adapters.resources import Resources
from app.kernel.failures import describe
from app.kernel.names import EngineName
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.operations.services.runner import Job
from app.platform.usage.logic import costs
from app.platform.usage.store import repository

log = structlog.get_logger()

_MAX_NOTE_SECONDS = 5
"""What a stopped request may take to record its costs: who stops it waits for that."""


@asynccontextmanager
async def recorded(resources: Resources, engine: EngineName, meter: Meter) -> AsyncIterator[None]:
    """Add what the block has put into `meter` to its engine's day, also if the block fails.

    No transaction may be open: it opens one of its own, after the block.
    """
    recording = _Recording(resources, engine, meter)
    try:
        yield
    except BaseException:
        await _in_time(asyncio.create_task(recording.now()))
        raise
    noting = asyncio.create_task(recording.now())
    try:
        # Unlike awaiting it, this does not break it off when the request is stopped.
        await asyncio.wait([noting])
    except BaseException:
        await _in_time(noting)
        raise
    noting.result()


async def _in_time(noting: asyncio.Task[None]) -> None:
    """Let costs be recorded by a task of its own, which no second cancellation breaks off.

    What stopped the request is what has to be told, whatever becomes of this.
    """
    _, late = await asyncio.wait([noting], timeout=_MAX_NOTE_SECONDS)
    for task in late:
        task.cancel()
    if not late and (error := noting.exception()) is not None:
        log.warning("usage.costs_not_recorded", error=describe(error))


@dataclass(frozen=True)
class _Recording:
    resources: Resources
    engine: EngineName
    meter: Meter

    async def now(self) -> None:
        resources = self.resources
        async with resources.db.transaction() as session:
            engine = await engines.get(session, self.engine, Lock.SHARED)
            prices = resources.settings.model_prices
            now = resources.clock.now()
            await repository.record(session, engine.engine_id, now, self.meter, prices)


async def note(job: Job, session: Session, details: dict[str, Any]) -> None:
    """Add the costs of an attempt to those of earlier ones in the operation's metadata."""
    await job.note(session, costs.with_earlier(details, job.claim.details))
