"""Memory as tools for models: one catalogue for function calling and for MCP."""
