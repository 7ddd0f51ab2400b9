"""Registers reembedding."""

from functools import partial

from app.adapters.batches import swept
from app.adapters.resources import Retry
from app.kernel.permissions import Permission
from app.memory.reembedding import jobs, service, store
from app.memory.reembedding.routes import router
from app.memory.reembedding.schemas import ReembedReasoningEngineResponse
from app.memory.reembedding.service import REEMBED, retry
from app.web.feature import Feature, Tick

FEATURE = Feature(
    "reembedding",
    routers=(router,),
    answers={"ReembedReasoningEngineResponse": ReembedReasoningEngineResponse},
    kinds=(REEMBED,),
    jobs=lambda: {REEMBED: jobs.reembed},
    retries={REEMBED: Retry(Permission.ENGINES_UPDATE, retry)},
    ticks=(
        Tick(
            "reembedding.backlog",
            lambda settings: settings.tuning.embedding_retry_seconds,
            lambda resources: partial(jobs.embed_once, resources),
        ),
    ),
    sweeps=(swept("stale vectors", jobs.remove_stale, order=1),),
    unembedded=store.count_waiting_of,
    gauges={"embedding": service.refresh_waiting},
)
