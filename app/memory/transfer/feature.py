"""Registers transfer."""

from app.memory.transfer.routes import router
from app.web.feature import Feature

FEATURE = Feature("transfer", routers=(router,))
