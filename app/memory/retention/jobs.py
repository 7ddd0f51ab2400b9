"""What a worker runs to delete an engine."""

from app.adapters.resources import Resources
from app.memory.retention.service import remove_engine_batch
from app.platform.operations.logic.states import EMPTY
from app.platform.operations.services.runner import Job


async def delete_engine(job: Job, resources: Resources) -> None:
    """Remove what a hidden engine holds in batches, then the engine, with the operation's end.

    Each batch is a transaction of its own, so a killed worker's successor goes on where it was.
    Should this fail for good, the sweep goes on.
    """
    engine_id = job.claim.owned.engine_id
    while True:
        async with job.db.transaction() as session:
            if await remove_engine_batch(session, engine_id, resources.settings.sweep_batch_rows):
                await job.finish(session, EMPTY, {})
                return
