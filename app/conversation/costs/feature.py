"""Registers costs."""

from app.conversation.costs.routes import router
from app.web.feature import Feature

FEATURE = Feature(
    "costs",
    routers=(router,),
)
