"""Wire types of memories."""
