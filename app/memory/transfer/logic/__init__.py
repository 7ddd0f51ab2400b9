"""Formats of archives and of other products (pure)."""
