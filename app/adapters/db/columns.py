"""Types of columns.

Vectors are stored as `halfvec`: half the space of floats, with the same recall.
"""

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import Text

EMBEDDING = HALFVEC()
"""A vector without a fixed length, since engines may use different models."""

IN_BYTE_ORDER = Text(collation="C")
"""Text that is ordered by its bytes, independent of the database's collation."""

__all__ = ["EMBEDDING", "IN_BYTE_ORDER"]
