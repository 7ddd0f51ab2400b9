"""What a `maxDistance` keeps, and whether distances of different queries compare."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from app.memory.retrieval.logic.ranking import Ranked, rank
from app.surfaces.tools.calls import farthest_related
from benchmarks.recall.bank import Bank, Scope

LIMITS = (1.0, 1.2, 1.4, 1.6, 1.8, 1.9)
_TOP = 10


def elsewhere(banks: Sequence[Bank]) -> Iterator[Bank]:
    """Yield each bank with the questions of the one before it, which it cannot answer."""
    for n, bank in enumerate(banks):
        yield replace(bank, questions=banks[n - 1].questions)


@dataclass(frozen=True)
class Distances:
    """The distances of answers to questions.

    Attributes:
        right: of the right answers among the first ten.
        other: of the other memories among the first ten.
        home: of the first answer to each question.
        away: the same for questions of other scopes, which none of the memories answers.
        in_tools: the shares of `right` and `other` that the tools for models keep.
    """

    right: Sequence[float]
    other: Sequence[float]
    home: Sequence[float]
    away: Sequence[float]
    in_tools: tuple[float, float]

    @classmethod
    def of(cls, home: Sequence[Scope], away: Sequence[Scope]) -> "Distances":
        """Ask."""
        found = [(scope.question.gold, _first_ten(scope)) for scope in home]
        right, other = (
            [
                (one.distance, farthest_related([each.distance for each in first_ten]))
                for gold, first_ten in found
                for one in first_ten
                if (one.candidate.memory_id in gold) == is_right
            ]
            for is_right in (True, False)
        )
        return cls(
            [distance for distance, _ in right],
            [distance for distance, _ in other],
            [first_ten[0].distance for _, first_ten in found],
            [_first_ten(scope)[0].distance for scope in away],
            (_within(right), _within(other)),
        )

    @property
    def told_apart(self) -> float:
        """The share of pairs in which the question at home has the smaller distance."""
        return statistics.fmean(one < other for one, other in product(self.home, self.away))

    @property
    def medians(self) -> tuple[float, float]:
        """The median distances of first answers, at home and elsewhere."""
        return statistics.median(self.home), statistics.median(self.away)

    def kept(self, limit: float) -> tuple[float, float, float]:
        """Return the shares of `right`, `other` and `away` that a `maxDistance` keeps."""
        right, other, away = (
            statistics.fmean(one <= limit for one in some)
            for some in (self.right, self.other, self.away)
        )
        return right, other, away


def _within(limited: Sequence[tuple[float, float]]) -> float:
    return statistics.fmean(distance <= limit for distance, limit in limited)


def _first_ten(scope: Scope) -> list[Ranked]:
    return rank(scope.question.asked, scope.statistics, scope.pool)[:_TOP]
