"""Bulk creation of memories: batches, and imports of any length."""
