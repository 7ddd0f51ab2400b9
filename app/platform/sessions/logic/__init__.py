"""Pure decisions of sessions."""
