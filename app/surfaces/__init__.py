"""Interfaces built on the routes of the API: the console, tools for models, and MCP."""
