"""Pure decisions of summaries."""
