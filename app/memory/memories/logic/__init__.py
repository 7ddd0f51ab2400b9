"""Pure decisions of memories."""
