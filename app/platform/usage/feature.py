"""Registers usage."""

from app.platform.usage.routes import router
from app.platform.usage.services import metrics
from app.platform.usage.store import repository
from app.web.feature import Feature

FEATURE = Feature(
    "usage",
    routers=(router,),
    children=repository.remove_of_engine,
    gauges={"usage": metrics.refresh},
)
