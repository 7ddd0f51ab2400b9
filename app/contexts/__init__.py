"""Contexts of sessions: what of a session a prompt shows, and the summaries of the rest."""
