"""Token counts of a call if the provider reports none, or impossible ones."""

_CHARS_PER_TOKEN = 4
_MAX_TOKENS = 1_000_000_000
"""Tokens of one call; far more than any takes, and a day's sum can still be stored."""


def estimated_tokens(text: str) -> int:
    """Estimate the tokens of a text as a quarter of its characters.

    An estimate for English; other languages take more. Used only if a server reports no usage.
    """
    return -(-len(text) // _CHARS_PER_TOKEN)


def believed_tokens(reported: int) -> int:
    """Return the reported tokens, limited to a possible number."""
    return min(max(reported, 0), _MAX_TOKENS)
