"""The worker's part of an erasure."""

from app.adapters.resources import Resources
from app.memory.erasures.services.erasures import counted
from app.memory.erasures.services.work import ErasureWork
from app.platform.operations.services.runner import Job


async def erase_scope(job: Job, resources: Resources) -> None:
    """Run a queued erasure, or continue one that a killed worker has begun."""
    with counted():
        await ErasureWork.of(job, resources).run()
