"""Recall of retrieval: `python -m benchmarks.recall DATA --tools FOLDER`.

DATA is in LoCoMo's shape; FOLDER has `corpus.py`, which turns it into memories and questions with
the memories that their answers rest on, and `score.py`, which scores what was found. No model
judges. The memories are read by `traits_of` as on every write, their lexemes come from Postgres,
their vectors from the embedder of the settings, and `rank` orders them, as for a request. Printed
for turns and for short facts:

- recall@10 and nDCG@10 of the vectors alone, BM25 alone, both by reciprocal rank, and ours;
- of ours without each signal;
- of ours by which memories are candidates, and where less is known;
- of ours and the best of the others for each conversation, none of which has weights of its own;
- the distance of the first found, for questions asked of their own conversation and of another.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from app.retrieval.ranking import SIGNALS, WEIGHTS, Candidate, Weights, rank
from benchmarks.recall import sources
from benchmarks.recall.bank import Bank, Scope, scopes
from benchmarks.recall.distances import Distances, elsewhere

TOP = 10
CONSTANT = 60
"""Of reciprocal rank fusion."""
CANDIDATES = 50
"""By distance, and as many by words."""

Way = Callable[[Scope], Sequence[str]]


@dataclass(frozen=True)
class Unit:
    """What every question of every bank meets, by the bank's name."""

    name: str
    banks: dict[str, list[Scope]]
    away: list[Scope]
    score: ModuleType

    def measured(self, way: Way, bank: str | None = None) -> tuple[float, float]:
        """Return recall@10 and nDCG@10 of a way to order, over all questions or one bank's."""
        names = self.banks if bank is None else [bank]
        rows = [
            self.score.one(way(scope)[:TOP], scope.question.gold, {})
            for name in names
            for scope in self.banks[name]
        ]
        return self.score.mean(rows, "recall@10"), self.score.mean(rows, "ndcg@10")


def by_vector(scope: Scope) -> list[str]:
    """Order by distance."""
    return scope.by_vector


def by_words(scope: Scope) -> list[str]:
    """Order by BM25."""
    return scope.by_words


def by_reciprocal_rank(scope: Scope) -> list[str]:
    """Order by the sum of 1 / (60 + place)."""
    sums: dict[str, float] = {}
    for found in (scope.by_vector, scope.by_words):
        for place, name in enumerate(found, 1):
            sums[name] = sums.get(name, 0) + 1 / (CONSTANT + place)
    return sorted(sums, key=lambda name: -sums[name])


def both(scope: Scope, count: int = CANDIDATES) -> set[str]:
    """Return the best by distance and the best by the words of each and those beside it."""
    return {*scope.by_vector[:count], *scope.by_nearby_words[:count]}


def own(scope: Scope, count: int) -> set[str]:
    """Return the best by distance and the best by each one's own words."""
    return {*scope.by_vector[:count], *scope.by_words[:count]}


def ours(
    weights: Weights = WEIGHTS,
    chosen: Callable[[Scope], set[str]] = both,
    known: Callable[[Candidate], Candidate] = lambda one: one,
) -> Way:
    """Return the way of the service, with other weights, other candidates, or less known."""

    def way(scope: Scope) -> list[str]:
        candidates = [known(one) for one in scope.only(chosen(scope))]
        ranked = rank(scope.question.asked, scope.statistics, candidates, weights)
        return [one.candidate.memory_id for one in ranked]

    return way


def without_place(one: Candidate) -> Candidate:
    """Forget the metadata `source` and `position`."""
    return replace(one, source=None, position=None, before=None, after=None)


def without_metadata(one: Candidate) -> Candidate:
    """Forget `event_time`, too."""
    cues = [cue for cue in one.cues if not cue.startswith(("said:", "time:"))]
    return replace(without_place(one), cues=cues)


def without_vectors(one: Candidate) -> Candidate:
    """Forget the vectors, as while their provider is down."""
    beside = [near and replace(near, distance=None) for near in (one.before, one.after)]
    return replace(one, distance=None, before=beside[0], after=beside[1])


PLAIN: dict[str, Way] = {
    "vector": by_vector,
    "BM25": by_words,
    "reciprocal rank, 60": by_reciprocal_rank,
}
CHOSEN: dict[str, Way] = {
    "100 by distance, 100 by own words": ours(chosen=lambda scope: own(scope, 100)),
    "50 by distance, 50 by own words": ours(chosen=lambda scope: own(scope, 50)),
    "100 and 100 by nearby words": ours(chosen=lambda scope: both(scope, 100)),
    "50 and 50 by nearby words": ours(),
}
KNOWN: dict[str, Way] = {
    "no source, no position": ours(chosen=lambda one: own(one, CANDIDATES), known=without_place),
    "no metadata": ours(chosen=lambda one: own(one, CANDIDATES), known=without_metadata),
    "no vectors": ours(chosen=lambda one: set(one.by_nearby_words[:100]), known=without_vectors),
}


TABLES: dict[str, dict[str, Way]] = {
    "All of it": PLAIN | {"ours": ours()},
    "Ours without a signal": {name: ours(replace(WEIGHTS, **{name: 0.0})) for name in SIGNALS},
    "Ours by candidates": CHOSEN,
    "Ours where less is known": KNOWN,
}


def report(units: Sequence[Unit]) -> None:
    """Print the tables."""
    for title, ways in TABLES.items():
        columns = [f"{unit.name + ' recall@10, nDCG@10':>27}" for unit in units]
        print(f"\n{title:<36}", *columns, sep="")
        for name, way in ways.items():
            found = [unit.measured(way) for unit in units]
            print(f"{name:<36}", *(f"{a:>18.3f}{b:>9.3f}" for a, b in found), sep="")
    report_conversations(units)
    report_distances(units)


def report_conversations(units: Sequence[Unit]) -> None:
    """Print the recall of each conversation."""
    print(f"\n{'recall@10 by conversation':<36}{'best plain':>14}{'ours':>9}")
    for unit, bank in [(one, name) for one in units for name in one.banks]:
        best = max(unit.measured(way, bank)[0] for way in PLAIN.values())
        own_recall = unit.measured(ours(), bank)[0]
        print(f"{unit.name + ', ' + bank:<36}{best:>14.3f}{own_recall:>9.3f}")


def report_distances(units: Sequence[Unit]) -> None:
    """Print how the distances of the first found tell the questions apart."""
    print(f"\n{'distance of the first, median':<36}{'at home':>14}{'away':>9}{'told apart':>14}")
    for unit in units:
        home = [scope for found in unit.banks.values() for scope in found]
        found = Distances.of(home, unit.away, both)
        at_home, away = found.medians
        print(f"{unit.name:<36}{at_home:>14.2f}{away:>9.2f}{found.told_apart:>14.3f}")


def load(data: Path, tools: Path, cache: Path | None) -> list[Unit]:
    """Read the data set as turns and as short facts."""
    corpus, score = (sources.script(tools, name) for name in ("corpus", "score"))
    banks = {
        unit: [Bank.of(one) for one in corpus.load(data, unit=unit)["collections"]]
        for unit in ("turns", "facts")
    }
    every = [bank for found in banks.values() for bank in found]
    strange = {unit: list(elsewhere(found)) for unit, found in banks.items()}
    vectors = sources.vectors([text for bank in every for text in bank.texts], cache)
    every += [bank for found in strange.values() for bank in found]
    lexemes = sources.lexemes(pair for bank in every for pair in bank.words)
    return [
        Unit(
            unit,
            {bank.name: list(scopes(bank, lexemes, vectors)) for bank in found},
            [scope for bank in strange[unit] for scope in scopes(bank, lexemes, vectors)],
            score,
        )
        for unit, found in banks.items()
    ]


def main() -> None:
    """Measure the file named on the command line."""
    parser = argparse.ArgumentParser(description="Recall of retrieval.")
    parser.add_argument("data", type=Path, help="a file in LoCoMo's shape")
    parser.add_argument("--tools", type=Path, required=True, help="has corpus.py and score.py")
    parser.add_argument("--cache", type=Path, help="an .npz file that keeps the vectors")
    args = parser.parse_args()
    report(load(args.data, args.tools, args.cache))


if __name__ == "__main__":
    main()
