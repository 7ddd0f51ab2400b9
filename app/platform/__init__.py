"""What every resource depends on: engines, operations, access, limits, usage, sessions."""
