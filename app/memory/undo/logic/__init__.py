"""Pure decisions of undo."""
