"""The costs of MCP: to a request, to the memory of the service, and to its start."""
