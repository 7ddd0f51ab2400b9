"""What workers run for upkeep: the deletion of an engine, and the tick of the sweeps."""

import structlog

from app.adapters.batches import in_batches
from app.adapters.resources import Resources
from app.kernel.errors import ServiceError
from app.platform.operations.logic.states import EMPTY
from app.platform.operations.services.runner import Job
from app.platform.upkeep.service import UpkeepService

log = structlog.get_logger()

SWEEP = "retention.sweep"
"""The name of the sweeps' tick."""


async def delete_engine(job: Job, resources: Resources) -> None:
    """Remove the contents of a hidden engine in batches, then the engine, and end the operation.

    Each batch is a transaction of its own, so the successor of a killed worker continues there. If
    the job fails for good, the sweep continues.
    """
    service = UpkeepService.of(resources)
    engine_id, limit = job.claim.owned.engine_id, resources.settings.sweep_batch_rows
    while True:
        async with job.db.transaction() as session:
            if await service.remove_engine_batch(session, engine_id, limit):
                await job.finish(session, EMPTY, {})
                return


async def sweep_once(resources: Resources) -> None:
    """Sweep, unless another process has this tick, or the clock of this one is wrong.

    What goes for good goes by the database's clock in any case; that such a process rests as well
    leaves the tick to one whose clock is right.
    """
    if resources.skew.is_too_large:
        return
    service = UpkeepService.of(resources)
    try:
        if await service.take_tick(SWEEP):
            await service.sweep()
    except ServiceError as error:
        log.warning("sweep.failed", reason=error.reason)


async def remove_deleted_engines(resources: Resources) -> int:
    """Remove hidden engines with what they hold; return a number of rows, 0 without any."""
    return await in_batches(resources, UpkeepService.of(resources).remove_deleted_engines)
