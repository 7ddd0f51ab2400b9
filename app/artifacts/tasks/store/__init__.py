"""SQL of tasks."""
