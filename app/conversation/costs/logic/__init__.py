"""Pure decisions of costs."""
