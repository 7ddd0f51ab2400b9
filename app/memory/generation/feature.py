"""Registers generation."""

from collections.abc import Mapping
from functools import partial

from app.adapters.batches import spread
from app.adapters.resources import Archived, Retry
from app.kernel.checks import CountedRows, overdue
from app.kernel.limits import Counted
from app.kernel.permissions import Permission
from app.memory.generation.routes import router
from app.memory.generation.schemas import ArchivedReadLine, GenerateMemoriesResponse
from app.memory.generation.services.generation import GENERATE, PREVIEW, read_preview, retry
from app.memory.generation.store import repository
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
    retries={GENERATE: Retry(Permission.MEMORIES_GENERATE, retry, PREVIEW)},
    sweeps=(spread("read lines", repository.find_expired, repository.remove_expired),),
    children=repository.remove_of_engine,
    erasures=repository.ERASURES,
    counted=(
        CountedRows(
            "read_lines", {Counted.BYTES: "octet_length(concat(scope)) + octet_length(digest)"}
        ),
    ),
    examinations=(overdue("lines read long ago", "read_lines", "expire_time"),),
    archived=Archived({"readLine": ArchivedReadLine}, remove=repository.remove_of_engine),
    response_readers={PREVIEW: lambda resources: partial(read_preview, clock=resources.clock)},
)
