"""Use cases of archives."""
