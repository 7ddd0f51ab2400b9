"""Pure decisions of generation."""
