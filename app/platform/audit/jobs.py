"""The sweep of the audit log."""

from datetime import timedelta
from functools import partial

from app.adapters.batches import SweepBatches
from app.platform.audit import store
from app.platform.audit.store import AuditEventRow, EventTable, ServiceEventRow


async def remove_old(batches: SweepBatches) -> int:
    """Remove events past their time; return how many."""
    kept = batches.resources.settings.audit_retention_seconds
    if kept is None:
        return 0
    tables: list[EventTable] = [AuditEventRow, ServiceEventRow]
    count = 0
    for table in tables:
        select = partial(store.select_old, table, timedelta(seconds=kept))
        count += await batches.remove(select, partial(store.remove_old, table))
    return count
