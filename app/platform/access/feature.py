"""Registers access."""

from app.platform.access.routes import router
from app.web.feature import Feature

FEATURE = Feature(
    "access",
    routers=(router,),
)
