"""Pure decisions of usage."""
