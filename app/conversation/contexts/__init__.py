"""Contexts of sessions: what a prompt shows of one, within its budget."""
