"""BM25 over terms that are there or not: how much the words of a text say of what is asked."""

import math
from collections.abc import Sequence

SATURATION, LENGTH_SHARE = 0.9, 0.4
"""The `k1` and `b` of the formula; usual for short texts."""
BASE = (1 + SATURATION * (1 - LENGTH_SHARE)) / (SATURATION + 1)
SLOPE = SATURATION * LENGTH_SHARE / (SATURATION + 1)
"""What a text's weight is divided by: `BASE`, and `SLOPE` for each time the average length."""


class Bm25:
    """The scorer of one query in one collection; the terms of a text are bits of an integer.

    Args:
        size: how many texts the collection has.
        holding: for each term of the query, how many of them have it.
        average_length: of a text, in different terms.
    """

    def __init__(self, size: int, holding: Sequence[int], average_length: float) -> None:
        self._rarity = [math.log1p((max(size, n) - n + 0.5) / (n + 0.5)) for n in holding]
        self._most = sum(self._rarity)
        self._sums: dict[int, float] = {}
        self._slope = SLOPE / max(average_length, 1.0)

    def score(self, matched: int, length: float) -> float:
        """Return the score of a text that has the terms whose bits are set."""
        if not matched:
            return 0.0
        # Most texts have one of few sets of terms.
        found = self._sums.get(matched)
        if found is None:
            found = self._sums[matched] = self._sum(matched)
        return found / (BASE + self._slope * length)

    def share(self, matched: int) -> float | None:
        """Return which share of all that the terms weigh the bits have; None without terms."""
        return self._sum(matched) / self._most if self._most else None

    def _sum(self, matched: int) -> float:
        return sum(rarity for n, rarity in enumerate(self._rarity) if matched >> n & 1)
