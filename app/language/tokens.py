"""Token estimates by length, where no tokenizer is at hand (pure)."""

CHARS_PER_TOKEN = 4
"""The usual figure for English; other languages take more tokens."""
BYTES_PER_TOKEN = 3
"""Low enough for every language: English has about 4 bytes to a token, Chinese about 3."""


def estimate_tokens(text: str | bytes) -> int:
    """Return about how many tokens a text has: a quarter of its length, rounded up."""
    return tokens_of_length(len(text))


def tokens_of_length(length: int) -> int:
    """Return about how many tokens a number of characters makes."""
    return -(-length // CHARS_PER_TOKEN)


def estimate_tokens_of_bytes(text: str, errors: str = "strict") -> int:
    """Return an estimate from the bytes of a text, rather too high than too low.

    `errors` is that of `str.encode`, for lone surrogates.
    """
    return len(text.encode(errors=errors)) // BYTES_PER_TOKEN + 1
