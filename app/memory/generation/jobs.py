"""The job of a worker that generates memories."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.names import EngineName
from app.memory.generation.schemas import QueuedGeneration
from app.memory.generation.services.work import Generation, GenerationTask
from app.platform.operations.services.runner import Job
from app.platform.privacy.logic.guard import MASKED_COUNTS, noted
from app.platform.usage.logic import costs
from app.platform.usage.services.recording import note


async def generate(job: Job, resources: Resources) -> None:
    """Run a queued generation, or a preview of one."""
    # Parsing a long conversation takes as long as hundreds of requests.
    request = await asyncio.to_thread(QueuedGeneration.model_validate, job.claim.request)
    if request.validate_only:
        # The preview holds texts that are stored nowhere else, so it is deleted sooner.
        job = replace(
            job, keep=timedelta(seconds=resources.settings.tuning.preview_retention_seconds)
        )
    task = GenerationTask(
        engine=EngineName.parse(job.claim.engine_name),
        operation_id=job.claim.owned.operation_id,
        kind=job.claim.kind,
        caller=job.claim.caller,
        request=request,
        request_time=request.request_time,
        session_time=request.session_time,
        step=job.step,
        finish=partial(_finish, job),
        note=partial(note, job),
    )
    await Generation.of(resources, task).run()


async def _finish(
    job: Job, session: Session, response: dict[str, Any], details: dict[str, Any]
) -> None:
    """Finish the operation; its costs are those of all attempts."""
    masked: Counter[str] = Counter(job.claim.details.get(MASKED_COUNTS)) + Counter(
        details.get(MASKED_COUNTS)
    )
    details = {**details, **noted(masked)}
    await job.finish(session, response, costs.with_earlier(details, job.claim.details))
