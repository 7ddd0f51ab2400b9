"""Use cases of processes."""
