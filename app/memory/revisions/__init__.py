"""The history of memories: read it, filter it by label, roll back to it. Written by the ledger."""
