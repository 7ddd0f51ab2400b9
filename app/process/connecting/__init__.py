"""The configuration files of programs that use MCP, and the entry of this service in them."""
