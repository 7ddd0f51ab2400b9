"""Many memories at once: batches, and imports of any length."""
