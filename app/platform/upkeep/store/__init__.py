"""SQL of upkeep."""
