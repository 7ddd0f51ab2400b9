"""SQL of revisions."""
