"""SQL of memories."""
