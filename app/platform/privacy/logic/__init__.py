"""Pure decisions of privacy."""
