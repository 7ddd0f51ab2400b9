"""The sweep of the audit log."""

from datetime import timedelta
from functools import partial

from app.adapters.batches import SweepBatches
from app.platform.audit.store import repository


async def remove_old(batches: SweepBatches) -> int:
    """Remove events past their time; return how many."""
    kept = batches.resources.settings.audit_retention_seconds
    if kept is None:
        return 0
    select = partial(repository.select_old, timedelta(seconds=kept))
    return await batches.remove(select, repository.remove_old)
