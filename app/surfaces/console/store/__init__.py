"""SQL of the console."""
