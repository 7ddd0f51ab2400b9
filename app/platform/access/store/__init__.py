"""SQL of access."""
