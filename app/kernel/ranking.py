"""The orders in which a search can return memories."""

from enum import StrEnum


class Ranking(StrEnum):
    """The order of search results."""

    HYBRID = "hybrid"
    """By meaning, words and other signals of a memory."""
    VECTOR = "vector"
    """By the Euclidean distance of the embeddings alone."""
