"""MCP at `/mcp`: the tools of `app.surfaces.tools`, and memories as resources and prompts.

The package `mcp`, which takes a second to import, is imported at the first request.
"""
