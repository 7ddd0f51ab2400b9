"""Registers usage."""

from app.adapters.resources import Archived
from app.platform.usage import service, store
from app.platform.usage.routes import router
from app.platform.usage.schemas import ArchivedUsage
from app.web.feature import Feature

FEATURE = Feature(
    "usage",
    routers=(router,),
    children=store.remove_of_engine,
    archived=Archived({"usage": ArchivedUsage}),
    gauges={"usage": service.refresh},
)
