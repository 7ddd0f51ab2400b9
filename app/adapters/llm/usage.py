"""What a call has cost, where the provider does not say or says what cannot be."""

_CHARS_PER_TOKEN = 4
_MAX_TOKENS = 1_000_000_000
"""Of one call; far more than any takes, and the sums of a day can still be stored."""


def estimated_tokens(text: str) -> int:
    """Estimate the tokens of a text as a quarter of its characters.

    An estimate for English; other languages take more. Used only where a server reports no usage.
    """
    return -(-len(text) // _CHARS_PER_TOKEN)


def believed_tokens(reported: int) -> int:
    """Return what a provider reports, kept within what can be."""
    return min(max(reported, 0), _MAX_TOKENS)
