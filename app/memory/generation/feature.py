"""Registers generation."""

from collections.abc import Mapping
from functools import partial

from app.adapters.resources import Retry
from app.kernel.permissions import Permission
from app.memory.generation.routes import router
from app.memory.generation.schemas import GenerateMemoriesResponse
from app.memory.generation.services.generation import GENERATE, PREVIEW, retry
from app.memory.generation.services.previews import read_preview
from app.web.feature import Feature, JobFunction


def _jobs() -> Mapping[str, JobFunction]:
    from app.memory.generation import jobs  # noqa: PLC0415 - for workers

    return {GENERATE: jobs.generate, PREVIEW: jobs.generate}


FEATURE = Feature(
    "generation",
    routers=(router,),
    answers={"GenerateMemoriesResponse": GenerateMemoriesResponse},
    kinds=(GENERATE, PREVIEW),
    jobs=_jobs,
    retries={GENERATE: Retry(Permission.MEMORIES_GENERATE, retry)},
    response_readers={PREVIEW: lambda resources: partial(read_preview, clock=resources.clock)},
)
