"""Registers processes."""

from functools import partial

from app.adapters.batches import batched
from app.platform.processes import service
from app.platform.processes.routes import router
from app.platform.processes.store import repository
from app.web.feature import Feature

FEATURE = Feature(
    "processes",
    routers=(router,),
    sweeps=(
        batched(
            "silent processes",
            partial(repository.select_silent, service.KEPT_FOR),
            repository.remove_silent,
        ),
    ),
    gauges={"processes": service.refresh},
    checks={"workers": service.check_workers},
    install=service.install,
)
