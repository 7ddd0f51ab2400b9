"""Registers access."""

from app.platform.access.routes import router, self_router
from app.web.feature import Feature

FEATURE = Feature(
    "access",
    routers=(router, self_router),
)
