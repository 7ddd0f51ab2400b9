"""SQL of undo."""
