"""SQL of engines."""
