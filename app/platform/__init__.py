"""The base of every resource: engines, operations, access, limits, usage, sessions."""
