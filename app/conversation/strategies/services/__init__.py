"""Use cases of strategies."""
