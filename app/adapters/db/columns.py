"""The vector column type and its distance.

Vectors are stored as `halfvec`: half the space of floats, with the same recall.
"""

from pgvector.sqlalchemy import HALFVEC

EMBEDDING = HALFVEC()
"""A vector without a fixed length, since engines may use different models."""

__all__ = ["EMBEDDING"]
