"""SQL of erasures."""
