"""SQL of sessions."""
