"""Registers reembedding."""

from functools import partial

from app.adapters.resources import Sweep
from app.memory.reembedding import jobs
from app.memory.reembedding.routes import router
from app.memory.reembedding.services import metrics
from app.memory.reembedding.services.reembedding import REEMBED
from app.web.feature import Feature, Tick

FEATURE = Feature(
    "reembedding",
    routers=(router,),
    jobs={REEMBED: jobs.reembed},
    ticks=(
        Tick(
            "reembedding.backlog",
            lambda settings: settings.tuning.embedding_retry_seconds,
            lambda resources: partial(jobs.embed_once, resources),
        ),
    ),
    sweeps=(Sweep("stale vectors", jobs.remove_stale, order=1),),
    gauges={"embedding": metrics.refresh},
)
