"""Memory as tools that a model calls: one catalogue for function calling and for MCP."""
