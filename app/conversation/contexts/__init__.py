"""Contexts of sessions: the content of a prompt, within its token budget."""
