"""MCP at `/mcp`: the tools of `app.surfaces.tools`, and memories as resources and prompts.

The package `mcp` takes a second to import and is therefore imported at the first request.
"""
