"""SQL of bulk."""
