"""The job of a worker that generates memories."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.names import EngineName
from app.memory.generation.logic.outcomes import response_of_both, together
from app.memory.generation.schemas import QueuedGeneration, ReadTo
from app.memory.generation.services.generation_input import ReadPart
from app.memory.generation.services.work import Generation, GenerationTask
from app.platform.operations.services.runner import Job
from app.platform.usage.service import note


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
        kind=job.claim.kind,
        caller=job.claim.caller,
        request=request,
        step=job.step,
        begin=partial(_begin, job),
        finish=partial(_finish, job, request.answered),
        go_on=partial(_go_on, job, request.answered),
        note=partial(note, job),
        origin=ReadPart(request.request_time, request.session_time, read_to=request.read_to),
    )
    await Generation(resources, task).run()


async def _begin(job: Job, _: Session) -> str:
    return job.claim.owned.operation_id


async def _finish(
    job: Job,
    answered: Mapping[str, Any] | None,
    session: Session,
    response: dict[str, Any],
    details: dict[str, Any],
) -> None:
    response, details = await _of_all_rounds(job, answered, session, response, details)
    await job.finish(session, response, details)


async def _go_on(
    job: Job,
    answered: Mapping[str, Any] | None,
    read_to: ReadTo,
    session: Session,
    response: dict[str, Any],
    details: dict[str, Any],
) -> None:
    # Other operations may run between the rounds of one.
    response, details = await _of_all_rounds(job, answered, session, response, details)
    request = {**job.claim.request, "readTo": read_to.wire(), "answered": response}
    await job.go_on(session, job.clock.now(), details, request)


async def _of_all_rounds(
    job: Job,
    answered: Mapping[str, Any] | None,
    session: Session,
    response: dict[str, Any],
    details: dict[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    if answered is None:
        return response, together(details, job.claim.details)
    # Read the current details: the notes of an earlier round may have been erased since.
    earlier = await job.lock_details(session)
    return response_of_both(response, answered), together(details, earlier)
