"""Registers generation."""

from functools import partial

from app.adapters.resources import Retry
from app.kernel.permissions import Permission
from app.memory.generation import jobs
from app.memory.generation.routes import router
from app.memory.generation.schemas import GenerateMemoriesResponse
from app.memory.generation.services.generation import GENERATE, PREVIEW, retry
from app.memory.generation.services.previews import read_preview
from app.web.feature import Feature

FEATURE = Feature(
    "generation",
    routers=(router,),
    answers={"GenerateMemoriesResponse": GenerateMemoriesResponse},
    jobs={GENERATE: jobs.generate, PREVIEW: jobs.generate},
    retries={GENERATE: Retry(Permission.MEMORIES_GENERATE, retry)},
    response_readers={PREVIEW: lambda resources: partial(read_preview, clock=resources.clock)},
)
