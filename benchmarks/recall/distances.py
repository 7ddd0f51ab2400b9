"""Whether distances of different queries compare: asked where the answer is, and elsewhere."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from app.memory.retrieval.logic.ranking import Ranked, rank
from benchmarks.recall.bank import Bank, Scope


def elsewhere(banks: Sequence[Bank]) -> Iterator[Bank]:
    """Yield each bank with the questions of the one before it, which it cannot answer."""
    for n, bank in enumerate(banks):
        yield replace(bank, questions=banks[n - 1].questions)


@dataclass(frozen=True)
class Distances:
    """The distances of the first answers to questions asked at home and elsewhere."""

    home: Sequence[float]
    away: Sequence[float]

    @classmethod
    def of(cls, home: Sequence[Scope], away: Sequence[Scope]) -> "Distances":
        """Ask."""
        return cls(*([_first(one).distance for one in found] for found in (home, away)))

    @property
    def told_apart(self) -> float:
        """The share of pairs in which the question at home has the smaller distance."""
        return statistics.fmean(one < other for one, other in product(self.home, self.away))

    @property
    def medians(self) -> tuple[float, float]:
        """At home, elsewhere."""
        return statistics.median(self.home), statistics.median(self.away)


def _first(scope: Scope) -> Ranked:
    return rank(scope.question.asked, scope.statistics, scope.pool)[0]
