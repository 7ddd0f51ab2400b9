"""Registers audit."""

from app.adapters.batches import swept
from app.platform.audit.jobs import remove_old
from app.platform.audit.routes import router
from app.web.feature import Feature

FEATURE = Feature(
    "audit",
    routers=(router,),
    sweeps=(swept("audit events", remove_old),),
)
