"""The job of a worker that deletes an engine."""

from app.operations.runner import Job
from app.operations.schemas import EMPTY
from app.resources import Resources
from app.retention.service import remove_engine_batch


async def delete_engine(job: Job, resources: Resources) -> None:
    """Remove the contents of a hidden engine in batches, then the engine, and end the operation.

    Each batch is a transaction of its own, so the successor of a killed worker continues there. If
    the job fails for good, the sweep continues.
    """
    engine_id = job.claim.owned.engine_id
    while True:
        async with job.db.transaction() as session:
            if await remove_engine_batch(session, engine_id, resources.settings.sweep_batch_rows):
                await job.finish(session, EMPTY, {})
                return
