"""The worker's part of upkeep: the deletion of an engine, and the tick of the sweeps."""

from collections.abc import Sequence

import structlog

from app.adapters.batches import SweepBatches
from app.adapters.db.session import Session
from app.adapters.db.spread import Key
from app.adapters.resources import Resources
from app.kernel.errors import ServiceError
from app.platform.engines.store import repository as engines
from app.platform.operations.logic.states import EMPTY
from app.platform.operations.services.runner import Job
from app.platform.processes.service import Activity
from app.platform.upkeep.service import UpkeepService

log = structlog.get_logger()

SWEEP = "retention.sweep"
"""The name of the sweeps' tick."""


async def delete_engine(job: Job, resources: Resources) -> None:
    """Remove the contents of a hidden engine in batches, then the engine, and end the operation.

    Each batch is a transaction of its own, so the successor of a killed worker continues there.
    """
    service = UpkeepService(resources)
    engine_id, limit = job.claim.owned.engine_id, resources.settings.tuning.sweep_batch_rows
    while True:
        async with job.db.transaction() as session:
            if not await service.remove_engine_batch(session, engine_id, limit):
                await job.finish(session, EMPTY, {})
                return


async def sweep_once(resources: Resources) -> None:
    """Run the sweeps unless another process has this tick, or this process's clock is wrong."""
    if resources.skew.is_too_large:
        return
    service = UpkeepService(resources)
    try:
        if await service.take_tick(SWEEP):
            await service.sweep()
            Activity.of(resources).has_swept = True
    except ServiceError as error:
        log.warning("sweep.failed", reason=error.reason)


async def remove_deleted_engines(batches: SweepBatches) -> int:
    """Remove hidden engines with all their rows, whatever their operations; return the count."""
    service = UpkeepService(batches.resources)
    limit = batches.resources.settings.tuning.sweep_batch_rows

    async def remove(session: Session, engine_id: int, _: Sequence[Key]) -> int:
        # With no rows left below it, the engine itself counts as one.
        return await service.remove_engine_batch(session, engine_id, limit) or 1

    return await batches.spread(engines.find_deleted, remove, shared=1)
