"""Registers processes."""

from app.adapters.batches import batched
from app.adapters.resources import Sweep
from app.platform.processes.routes import router
from app.platform.processes.services import processes
from app.web.feature import Feature

FEATURE = Feature(
    "processes",
    routers=(router,),
    sweeps=(Sweep("silent processes", batched(processes.remove_silent)),),
    gauges={"processes": processes.refresh},
    checks={"workers": processes.check_workers},
    install=processes.install,
)
