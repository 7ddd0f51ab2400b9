"""Registers finding."""

from app.memory.finding.routes import router
from app.web.feature import Feature

FEATURE = Feature("finding", routers=(router,))
