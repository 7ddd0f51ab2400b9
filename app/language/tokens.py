"""Token estimates by length, for use without a tokenizer (pure)."""

CHARS_PER_TOKEN = 4
"""The usual figure for English; other languages take more tokens."""
BYTES_PER_TOKEN = 3
"""Low enough for every language: a token has about 4 bytes in English, and about 3 in Chinese."""


def estimate_tokens(text: str | bytes) -> int:
    """Estimate the number of tokens of a text: a quarter of its length, rounded up."""
    return tokens_of_length(len(text))


def tokens_of_length(length: int) -> int:
    """Estimate the number of tokens of a number of characters."""
    return -(-length // CHARS_PER_TOKEN)


def estimate_tokens_of_bytes(text: str, errors: str = "strict") -> int:
    """Estimate the number of tokens from the bytes of a text, as an upper bound.

    `errors` is an argument of `str.encode`, for lone surrogates.
    """
    return len(text.encode(errors=errors)) // BYTES_PER_TOKEN + 1
