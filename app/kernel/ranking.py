"""The orders in which a search can return memories."""

from enum import StrEnum


class Ranking(StrEnum):
    """By what searches order memories."""

    HYBRID = "hybrid"
    """Meaning, words, and what a memory tells besides."""
    VECTOR = "vector"
    """The Euclidean distance of the embeddings alone."""
