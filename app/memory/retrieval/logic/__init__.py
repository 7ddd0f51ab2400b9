"""Pure decisions of retrieval."""
