"""Summaries without a model: the weightiest sentences within a limit (pure)."""
