"""Pure decisions of bulk."""
