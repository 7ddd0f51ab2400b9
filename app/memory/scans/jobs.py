"""Worker job of a scan."""

from app.adapters.resources import Resources
from app.memory.scans.services.work import ScanWork
from app.platform.operations.services.runner import Job


async def scan(job: Job, resources: Resources) -> None:
    """Run a queued scan, or continue one from a killed worker."""
    await ScanWork(job, resources).run()
