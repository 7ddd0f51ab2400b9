"""Pure decisions of recall."""
