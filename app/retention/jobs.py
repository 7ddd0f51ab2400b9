"""What a worker runs to delete an engine."""

from app.engines import repository as engines
from app.memories import ledger
from app.operations.runner import Job
from app.operations.schemas import EMPTY
from app.resources import Resources
from app.retention import repository


async def delete_engine(job: Job, resources: Resources) -> None:
    """Remove a hidden engine's memories in batches, then the engine and the operation's end.

    Each batch is a transaction of its own, so a killed worker's successor goes on where it was.
    """
    engine_id = job.claim.owned.engine_id
    limit = resources.settings.sweep_batch_rows
    while True:
        async with job.db.transaction() as session:
            ids = await repository.list_ids(session, engine_id, limit)
            if not ids:
                await engines.remove(session, engine_id)
                await job.finish(session, EMPTY, {})
                return
            await ledger.erase(session, engine_id, ids)
