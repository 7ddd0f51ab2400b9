"""What a worker runs to delete an engine."""

from app.operations.runner import Job
from app.operations.schemas import EMPTY
from app.resources import Resources
from app.retention.service import remove_engine_batch


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
