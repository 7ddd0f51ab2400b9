"""Registers retention."""

from functools import partial

from app.adapters.batches import spread
from app.adapters.resources import Archived
from app.memory.retention import jobs, store
from app.memory.retention.routes import router
from app.memory.retention.schemas import PurgeMemoriesResponse, StoredPurge
from app.memory.retention.service import PURGE, read_samples
from app.web.feature import Feature

FEATURE = Feature(
    "retention",
    routers=(router,),
    kinds=("memories.purge",),
    answers={"PurgeMemoriesResponse": PurgeMemoriesResponse},
    sweeps=(
        spread("memories", store.find_gone, jobs.remove_gone),
        spread("revisions", store.find_expired_revisions, store.remove_expired_revisions),
    ),
    children=jobs.remove_of_engine,
    archived=Archived(answers={PURGE: StoredPurge}, remove=jobs.remove_of_engine),
    response_readers={PURGE: lambda resources: partial(read_samples, clock=resources.clock)},
)
