"""Contexts of sessions: how they grow, and what their summaries cost."""
