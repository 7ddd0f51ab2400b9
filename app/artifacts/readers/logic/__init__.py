"""Pure decisions of readers."""
