"""Dimensions by which usage is summed up, and kinds of work (pure)."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from app.kernel.errors import InvalidArgument

FIELD = "groupBy"

# Kinds of work in addition to the kinds of operations.
RECALL: Final = "recall"
"""Recall of events that are outside the context."""
QUERY: Final = "query"
"""Reads of task memory: questions and summaries."""


class Dimension(StrEnum):
    """A property of usage; sums are ordered by them in this order."""

    DAY = "day"
    MODEL = "model"
    KIND = "kind"


_USUAL = (Dimension.DAY, Dimension.MODEL)


def read_grouping(text: str | None) -> Sequence[Dimension]:
    """Return the dimensions that a text names, in their order; without any, day and model.

    Raises:
        InvalidArgument: a name is no dimension.
    """
    if text is None or not text.strip():
        return _USUAL
    names = {name.strip() for name in text.split(",")}
    if not names <= set(Dimension):
        accepted = ", ".join(Dimension)
        raise InvalidArgument.of_field(FIELD, f"must be some of {accepted}, separated by commas.")
    return [dimension for dimension in Dimension if dimension in names]
