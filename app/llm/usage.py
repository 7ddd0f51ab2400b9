"""What a call has cost where the provider does not say."""

_CHARS_PER_TOKEN = 4


def estimated_tokens(text: str) -> int:
    """Estimate the tokens of a text as a quarter of its characters.

    An estimate for English; other languages take more. Used only where a server reports no usage.
    """
    return -(-len(text) // _CHARS_PER_TOKEN)
