"""BM25 over terms that are present or absent: the relevance of a text's words to a query."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Self

MAX_TERMS = 48
"""Maximum number of terms, from the start of a query; each is a bit of a 64-bit integer."""
SATURATION, LENGTH_SHARE = 0.9, 0.4
"""The `k1` and `b` of the formula; usual for short texts."""
BASE = (1 + SATURATION * (1 - LENGTH_SHARE)) / (SATURATION + 1)
SLOPE = SATURATION * LENGTH_SHARE / (SATURATION + 1)
"""The divisor of a text's score: `BASE`, plus `SLOPE` for each multiple of the average length."""


class Bm25:
    """The scorer of one query in one collection; the terms of a text are bits of an integer.

    Args:
        holding: for each term of the query, the number of texts with it.
        average_length: the average number of different terms in a text.
        has_grams: True if terms are cut from runs without blanks. Terms found in no text then have
            no weight, since most of them lie across the border of two words.
    """

    def __init__(
        self,
        size: int,
        holding: Sequence[int],
        average_length: float,
        *,
        has_grams: bool = False,
    ) -> None:
        self._rarity = [math.log1p((max(size, n) - n + 0.5) / (n + 0.5)) for n in holding]
        weighing = self._rarity
        if has_grams:
            weighing = [rarity for rarity, n in zip(weighing, holding, strict=True) if n]
        self._most = sum(weighing)
        self._weights = _Weights(self._rarity)
        self._slope = SLOPE / max(average_length, 1.0)

    @classmethod
    def of_texts(cls, texts: Sequence[tuple[int, int]], terms: int, size: int = 0) -> Self:
        """Return a scorer of texts, each given by the bits of its terms and its length.

        `size` is the number of texts in the collection, if it has further texts.
        """
        holding = count_holding((matched for matched, _ in texts), terms)
        average = sum(length for _, length in texts) / max(len(texts), 1)
        return cls(max(size, len(texts)), holding, average)

    def score(self, matched: int, length: float) -> float:
        """Return the score of a text with the terms of the set bits."""
        return self._weights[matched] / (BASE + self._slope * length) if matched else 0.0

    def scores(self, matched: Sequence[int], lengths: Sequence[float]) -> list[float]:
        """Return the scores of texts, each as by `score`."""
        weights, slope = self._weights, self._slope
        return [
            weights[bits] / (BASE + slope * length) if bits else 0.0
            for bits, length in zip(matched, lengths, strict=True)
        ]

    def score_in_context(
        self, own: int, led: int, near: int, length: float, *, led_share: float, near_share: float
    ) -> float:
        """Return the score of a sentence with its own terms and a share of others', each once.

        `led` are terms of the text that it answers or follows, `near` terms of adjacent sentences.
        """
        led &= ~own
        near &= ~(own | led)
        return (
            self.score(own, length)
            + led_share * self.score(led, length)
            + near_share * self.score(near, length)
        )

    def share(self, matched: int) -> float | None:
        """Return the share of the set bits in the query's weight; None without any terms."""
        # Capped: a sample may lack terms that a text has.
        return min(self._weights[matched] / self._most, 1.0) if self._most else None


class _Weights(dict[int, float]):
    """The sum of the rarities of each set of terms; kept, since most texts have one of few."""

    def __init__(self, rarity: Sequence[float]) -> None:
        super().__init__()
        self._rarity = rarity

    def __missing__(self, matched: int) -> float:
        weight = sum(rarity for n, rarity in enumerate(self._rarity) if matched >> n & 1)
        self[matched] = weight
        return weight


def count_holding(matched: Iterable[int], terms: int) -> list[int]:
    """Return the number of texts with each term, given the bits of each text."""
    # Most texts have one of few sets of terms.
    patterns = Counter(matched).items()
    return [sum(count for bits, count in patterns if bits >> n & 1) for n in range(terms)]
