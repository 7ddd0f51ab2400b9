"""Pure decisions of strategies."""
