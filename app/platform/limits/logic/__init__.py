"""Pure decisions of limits."""
