"""Wire types of sessions."""
