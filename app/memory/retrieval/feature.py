"""Registers retrieval."""

from app.adapters.resources import Resources
from app.memory.retrieval.jobs import INDEX, IndexSweep
from app.memory.retrieval.routes import router
from app.memory.retrieval.store.indexes import ERASURES
from app.web.feature import Feature, Tick


def _watch_fills(resources: Resources) -> None:
    # An import may have filled a large scope.
    resources.db.server.statistics.after = IndexSweep(resources).run_after


FEATURE = Feature(
    "retrieval",
    install=_watch_fills,
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
