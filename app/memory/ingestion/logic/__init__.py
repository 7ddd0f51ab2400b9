"""Pure decisions of ingestion."""
