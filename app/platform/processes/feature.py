"""Registers processes."""

from functools import partial

from app.adapters.batches import batched
from app.platform.processes.routes import router
from app.platform.processes.services import processes
from app.platform.processes.store import repository
from app.web.feature import Feature

FEATURE = Feature(
    "processes",
    routers=(router,),
    sweeps=(
        batched(
            "silent processes",
            partial(repository.select_silent, processes.KEPT_FOR),
            repository.remove_silent,
        ),
    ),
    gauges={"processes": processes.refresh},
    checks={"workers": processes.check_workers},
    install=processes.install,
)
