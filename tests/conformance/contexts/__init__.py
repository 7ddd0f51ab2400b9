"""Contexts of sessions, as the design has them: the official client, a live server, a stub."""
