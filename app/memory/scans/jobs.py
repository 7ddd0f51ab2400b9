"""The worker's part of a scan."""

from app.adapters.resources import Resources
from app.memory.scans.services.work import ScanWork
from app.platform.operations.services.runner import Job


async def scan(job: Job, resources: Resources) -> None:
    """Run a queued scan, or continue one that a killed worker has begun."""
    await ScanWork(job, resources).run()
