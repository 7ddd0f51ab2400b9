"""SQL of ingestion."""
