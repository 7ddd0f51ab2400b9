"""Use cases of export and restore."""
