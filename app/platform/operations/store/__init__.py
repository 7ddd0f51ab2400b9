"""SQL of operations."""
