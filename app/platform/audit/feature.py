"""Registers audit."""

from app.adapters.resources import Sweep
from app.platform.audit.jobs import remove_old
from app.platform.audit.routes import router
from app.web.feature import Feature

FEATURE = Feature(
    "audit",
    routers=(router,),
    sweeps=(Sweep("audit events", remove_old),),
)
