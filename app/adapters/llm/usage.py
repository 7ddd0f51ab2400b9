"""Token counts of a call if the provider reports impossible ones."""

_MAX_TOKENS = 1_000_000_000
"""Tokens of one call; far more than any takes, and a day's sum can still be stored."""


def believed_tokens(reported: int) -> int:
    """Return the reported tokens, limited to a possible number."""
    return min(max(reported, 0), _MAX_TOKENS)
