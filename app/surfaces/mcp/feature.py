"""Registers the MCP endpoint."""

from app.surfaces.mcp.routes import router
from app.web.feature import Feature

FEATURE = Feature("mcp", routers=(router,))
"""One method without audit entries of its own: the methods behind the tools are audited."""
