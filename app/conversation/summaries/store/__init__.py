"""SQL of summaries."""
