"""Registers retrieval."""

from app.memory.retrieval.jobs import INDEX, IndexSweep
from app.memory.retrieval.routes import router
from app.memory.retrieval.store.indexes import ERASURES
from app.web.feature import Feature, Tick

FEATURE = Feature(
    "retrieval",
    routers=(router,),
    erasures=ERASURES,
    ticks=(
        Tick(
            INDEX,
            lambda settings: settings.tuning.scope_index_interval_seconds,
            lambda resources: IndexSweep(resources).run_due,
        ),
    ),
)
