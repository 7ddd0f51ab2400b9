"""History of memories: reads, filters by label and rollback; the ledger writes revisions."""
