"""Registers retention."""

from app.adapters.batches import batched
from app.adapters.resources import Sweep
from app.memory.retention import jobs
from app.memory.retention.routes import router
from app.memory.retention.schemas import PurgeMemoriesResponse
from app.memory.retention.store import repository
from app.web.feature import Feature

FEATURE = Feature(
    "retention",
    routers=(router,),
    answers={"PurgeMemoriesResponse": PurgeMemoriesResponse},
    sweeps=(
        Sweep("memories", batched(jobs.remove_gone)),
        Sweep("revisions", batched(repository.remove_expired_revisions)),
    ),
    children=jobs.remove_of_engine,
)
