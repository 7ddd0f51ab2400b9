"""Registers memory as a tool."""

from app.surfaces.tools.routes import router
from app.web.feature import Feature

FEATURE = Feature("tools", routers=(router,))
"""The methods, whose audit is that of the methods behind the tools."""
