"""The sweep of the audit log."""

from app.adapters.batches import in_batches
from app.adapters.resources import Resources
from app.platform.audit.service import AuditService


async def remove_old(resources: Resources) -> int:
    """Remove events past their time; return how many."""
    return await in_batches(resources, AuditService.of(resources).remove_old)
