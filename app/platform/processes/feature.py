"""Registers processes."""

from functools import partial

from app.adapters.batches import batched
from app.platform.processes import service, store
from app.platform.processes.routes import router
from app.web.feature import Feature

FEATURE = Feature(
    "processes",
    routers=(router,),
    sweeps=(
        batched(
            "silent processes",
            partial(store.select_silent, service.KEPT_FOR),
            store.remove_silent,
        ),
    ),
    gauges={"processes": service.refresh},
    checks={"workers": service.check_workers},
    install=service.install,
)
