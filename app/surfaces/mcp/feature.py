"""Registers the MCP endpoint."""

from app.surfaces.mcp.routes import router
from app.web.feature import Feature

FEATURE = Feature("mcp", routers=(router,))
"""One method; what it changes is audited by the methods behind the tools."""
