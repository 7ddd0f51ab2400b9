"""Registers usage."""

from app.adapters.resources import Archived
from app.platform.usage import service
from app.platform.usage.routes import router
from app.platform.usage.schemas import ArchivedUsage
from app.platform.usage.store import repository
from app.web.feature import Feature

FEATURE = Feature(
    "usage",
    routers=(router,),
    children=repository.remove_of_engine,
    archived=Archived({"usage": ArchivedUsage}),
    gauges={"usage": service.refresh},
)
