"""SQL of processes."""
