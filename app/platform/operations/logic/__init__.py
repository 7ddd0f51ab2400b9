"""Pure decisions of operations."""
