"""Recall of retrieval: `python -m benchmarks.recall [LOCOMO --tools FOLDER] [--beam FOLDER]`.

LOCOMO is a file in LoCoMo's shape; its FOLDER has `corpus.py`, which turns it into memories and
questions with the memories that their answers rest on. The FOLDER of `--beam` is a checkout of
`mohammadtavakoli78/BEAM`, of which conversations 1 to 10 of 100K are read. The first-person
memories are in this folder. No model judges. The memories are read by `search_hints_of` as on every
write, their lexemes come from Postgres, their vectors from the embedder of the settings, and
`rank` orders them, as for a request.

Printed are, of all corpora side by side, recall@10, nDCG@10, MRR and hit@1 of the vectors alone, of
BM25 alone, of both by reciprocal rank, and of ours; ours without each signal; and the distance of
the first found, for questions asked of their own scope and of another.

The exit status is 1 if on any corpus ours is below the vectors or BM25, at recall@10 or MRR, by
more than 0.005.
"""

import argparse
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from app.memory.retrieval.logic.ranking import SIGNALS, WEIGHTS, Weights, rank
from benchmarks.recall import corpora, sources
from benchmarks.recall.bank import Scope, scopes
from benchmarks.recall.corpora import Corpus
from benchmarks.recall.distances import LIMITS, Distances, elsewhere

TOP = 10
CONSTANT = 60
"""Of reciprocal rank fusion."""
SLACK = 0.005
"""By how much ours may be below a plain order."""
NOT_MEASURED = "not measured"

Way = Callable[[Scope], Sequence[str]]


class Figures(NamedTuple):
    """How good an order is, of one question or on average."""

    recall: float
    ndcg: float
    mrr: float
    hit: float

    @property
    def shown(self) -> str:
        """All, in one column."""
        return " ".join(f"{figure:.3f}" for figure in self)


def judge(found: Sequence[str], gold: Sequence[str]) -> Figures:
    """Compare what was found with what should be, each counted once."""
    wanted = set(gold)
    hits = [name in wanted for name in found]
    gains = [1 / math.log2(place + 2) for place in range(TOP)]
    ideal = sum(gains[: len(wanted)])
    gained = sum(gain for gain, hit in zip(gains, hits, strict=False) if hit)
    first = hits.index(True) + 1 if True in hits else math.inf
    return Figures(sum(hits[:TOP]) / len(wanted), gained / ideal, 1 / first, float(first == 1))


@dataclass(frozen=True)
class Measured:
    """What the questions of a corpus meet, and those of other scopes meet there."""

    name: str
    scopes: Sequence[Scope]
    away: Sequence[Scope]

    def of(self, way: Way) -> Figures:
        """Return the averages of a way to order."""
        rows = [judge(way(scope), scope.question.gold) for scope in self.scopes]
        return Figures(*map(statistics.fmean, zip(*rows, strict=True)))


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


def ours(weights: Weights = WEIGHTS) -> Way:
    """Return the way of the service, with other weights if wanted."""

    def way(scope: Scope) -> list[str]:
        ranked = rank(scope.question.asked, scope.statistics, scope.pool, weights)
        return [one.candidate.memory_id for one in ranked]

    return way


PLAIN: dict[str, Way] = {"vector": by_vector, "BM25": by_words}
WAYS = PLAIN | {"reciprocal rank, 60": by_reciprocal_rank, "ours": ours()}


def report(measured: Sequence[Measured]) -> None:
    """Print the tables."""
    print(f"{'recall@10, nDCG@10, MRR, hit@1':<32}", *(f"{name:<25}" for name in WAYS), sep="")
    for corpus in measured:
        found = [f"{corpus.of(way).shown:<25}" for way in WAYS.values()]
        print(f"{corpus.name:<32}", *found, sep="")
    print(f"\n{'ours without a signal: recall@10, MRR':<40}", "lost, by corpus")
    usual = [corpus.of(ours()) for corpus in measured]
    for name in SIGNALS:
        less = ours(replace(WEIGHTS, **{name: 0.0}))
        found_less = [corpus.of(less) for corpus in measured]
        pairs = zip(usual, found_less, strict=True)
        print(
            f"{name:<15}", *(f"{a.recall - b.recall:+.3f} {a.mrr - b.mrr:+.3f}" for a, b in pairs)
        )
    print(f"\n{'distance of the first, median':<32}{'at home':>9}{'away':>9}{'told apart':>14}")
    found_distances = [Distances.of(corpus.scopes, corpus.away) for corpus in measured]
    for corpus, distances in zip(measured, found_distances, strict=True):
        at_home, away = distances.medians
        print(f"{corpus.name:<32}{at_home:>9.2f}{away:>9.2f}{distances.told_apart:>14.3f}")
    title = "kept by maxDistance: right, other of the first ten; first elsewhere"
    print(f"\n{title}\n{'':<32}", *(f"{limit:<17}" for limit in LIMITS), "by tools", sep="")
    for corpus, distances in zip(measured, found_distances, strict=True):
        shares = [" ".join(f"{part:4.0%}" for part in distances.kept(limit)) for limit in LIMITS]
        shares.append(" ".join(f"{part:4.0%}" for part in distances.in_tools))
        print(f"{corpus.name:<32}", *(f"{one:<17}" for one in shares), sep="")


def misses(measured: Sequence[Measured]) -> list[str]:
    """Return where ours is below a plain order, in words."""
    found = []
    for corpus in measured:
        own = corpus.of(ours())
        for name, way in PLAIN.items():
            plain = corpus.of(way)
            for figure in ("recall", "mrr"):
                behind = getattr(plain, figure) - getattr(own, figure)
                if behind > SLACK:
                    found.append(f"{corpus.name}: {figure} is {behind:.3f} below {name}")
    return found


def load(found: Sequence[Corpus], cache: Path | None) -> list[Measured]:
    """Read the corpora as a search would meet them."""
    banks = [bank for corpus in found for bank in corpus.banks]
    vectors = sources.vectors([text for bank in banks for text in bank.texts], cache)
    strange = {corpus.name: list(elsewhere(corpus.banks)) for corpus in found}
    banks += [bank for one in strange.values() for bank in one]
    lexemes = sources.lexemes(pair for bank in banks for pair in bank.words)
    return [
        Measured(
            corpus.name,
            [scope for bank in corpus.banks for scope in scopes(bank, lexemes, vectors)],
            [scope for bank in strange[corpus.name] for scope in scopes(bank, lexemes, vectors)],
        )
        for corpus in found
    ]


def main() -> None:
    """Measure the corpora that are there."""
    parser = argparse.ArgumentParser(description="Recall of retrieval.")
    parser.add_argument("data", type=Path, nargs="?", help="a file in LoCoMo's shape")
    parser.add_argument("--tools", type=Path, help="has corpus.py, which reads the file")
    parser.add_argument("--beam", type=Path, help="a checkout of BEAM")
    parser.add_argument("--cache", type=Path, help="an .npz file that keeps the vectors")
    args = parser.parse_args()
    if args.data and not args.tools:
        parser.error("--tools must be given with a file in LoCoMo's shape")
    found = list(corpora.first_person())
    found += corpora.locomo(args.data, args.tools) if args.data else ()
    found += corpora.beam(args.beam) if args.beam else ()
    measured = load(found, args.cache)
    report(measured)
    for name, given in (("LoCoMo", args.data), ("BEAM-100K", args.beam)):
        if not given:
            print(f"{name:<32}{NOT_MEASURED}")
    missed = misses(measured)
    print(*(f"below: {miss}" for miss in missed), sep="\n")
    raise SystemExit(1 if missed else 0)


if __name__ == "__main__":
    main()
