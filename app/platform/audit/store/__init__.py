"""SQL of audit."""
