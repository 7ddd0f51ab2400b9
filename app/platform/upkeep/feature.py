"""Registers upkeep."""

from functools import partial

from app.adapters.batches import spread, swept
from app.platform.upkeep import jobs, store
from app.platform.upkeep.routes import router
from app.platform.upkeep.service import DELETE_ENGINE, UpkeepService
from app.web.feature import Feature, Tick

FEATURE = Feature(
    "upkeep",
    routers=(router,),
    kinds=(DELETE_ENGINE,),
    jobs=lambda: {DELETE_ENGINE: jobs.delete_engine},
    ticks=(
        Tick(
            jobs.SWEEP,
            lambda settings: settings.tuning.sweep_interval_seconds,
            lambda resources: partial(jobs.sweep_once, resources),
        ),
    ),
    sweeps=(
        swept("engines", jobs.remove_deleted_engines),
        spread("totals of gone engines", store.find_gone_totals, store.remove_gone_totals),
    ),
    gauges={"sweeps": lambda resources: UpkeepService(resources).show_sweeps()},
)
