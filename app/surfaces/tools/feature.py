"""Registers the routes of memory tools."""

from app.surfaces.tools.routes import router
from app.web.feature import Feature

FEATURE = Feature("tools", routers=(router,))
"""The tool methods, which add no audit entries: the methods behind the tools are audited."""
