"""SQL of checking."""
