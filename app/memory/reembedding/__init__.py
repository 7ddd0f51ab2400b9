"""Re-embedding of an engine with another model, and embedding of queued memories."""
