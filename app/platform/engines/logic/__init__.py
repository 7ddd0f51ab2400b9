"""Pure decisions of engines."""
