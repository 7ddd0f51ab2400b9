"""Candidates of a search in a small scope, selected in Python from all of its memories.

Postgres takes as long to rank a hundred memories by distance, words and age as to read them. The
candidates and their columns are equal to the result of the statement in `candidates.py`, to the
last digit.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Select, func, select, true

from app.language.bm25 import Bm25, count_holding
from app.memory.retrieval.logic.ranking import (
    CANDIDATE_FIELDS,
    RankedNeighbour,
    RankingCandidate,
    Statistics,
)
from app.memory.retrieval.store.candidates import (
    BY_DISTANCE,
    TOLD_APART,
    read_scope,
)
from app.memory.retrieval.store.nearest import BY_WORDS, POOL

MOST = 200
"""Maximum memories in a small scope. With 200, a search costs the service 0.25 ms more CPU than
a selection in Postgres, and Postgres 0.75 ms less. With more, other requests would wait too long.
"""


_Sides = tuple[RankingCandidate | None, RankingCandidate | None]
_ALONE: _Sides = (None, None)
_QUESTION = "is:question"


@cache
def of_small_scope(*, with_vectors: bool) -> Select[*tuple[Any, ...]]:
    """Return the statement that reads the scope, at most one memory more than `MOST`.

    Each row has a candidate without its neighbours, a number that ascends with its time of
    creation, and the number of terms in the query. Its parameters are the keys of
    `candidates.values_of`.
    """
    scope, words = read_scope(true(), with_vectors=with_vectors, most=MOST + 1)
    terms = select(func.count(words.c.n.distinct())).scalar_subquery()
    age = func.date_part("epoch", scope.c.create_time)
    own = (scope.c[name] for name in CANDIDATE_FIELDS)
    return select(*own, age.label("age"), terms.label("terms"))


def candidates_among(
    rows: Sequence[Sequence[Any]],
) -> tuple[Statistics, list[RankingCandidate]]:
    """Return the scope's statistics of the query's terms, and the candidates."""
    if not rows:
        return Statistics(0, (), 0.0), []
    found = [RankingCandidate(*own) for *own, _, _ in rows]
    ages = {candidate.memory_id: age for candidate, (*_, age, _) in zip(found, rows, strict=True)}
    terms = rows[0][-1]
    statistics = _statistics(found, terms)
    beside = _beside(found)
    chosen = {*_by_distance(found), *_by_words(found, statistics, beside)}
    newest_first = sorted(found, key=lambda one: (ages[one.memory_id], one.memory_id), reverse=True)
    # The sort is stable, so the other memories keep their order.
    newest_first.sort(key=lambda memory: memory.memory_id not in chosen)
    candidates = newest_first[:POOL]
    for candidate in candidates:
        before, after = beside.get(candidate.memory_id, _ALONE)
        candidate.before, candidate.after = _neighbour(before), _neighbour(after)
    return statistics, candidates


def _statistics(memories: Sequence[RankingCandidate], terms: int) -> Statistics:
    holding = count_holding([memory.matched for memory in memories], terms)
    average = sum([memory.length for memory in memories]) / len(memories)
    return Statistics(len(memories), holding, average)


def _beside(memories: Sequence[RankingCandidate]) -> Mapping[str, _Sides]:
    """Return the memories before and after each memory that has a position in a source."""
    sources: dict[str, list[RankingCandidate]] = defaultdict(list)
    for memory in memories:
        if memory.source is not None:
            sources[memory.source].append(memory)
    return {
        memory.memory_id: sides
        for inside in sources.values()
        for memory, sides in _in_order(inside)
        if memory.position is not None
    }


def _in_order(inside: list[RankingCandidate]) -> Iterator[tuple[RankingCandidate, _Sides]]:
    inside.sort(key=_place)
    before = [None, *inside]
    after = [*inside[1:], None]
    return zip(inside, zip(before, after, strict=False), strict=False)


def _place(memory: RankingCandidate) -> tuple[bool, float, str]:
    return memory.position is None, memory.position or 0.0, memory.memory_id


def _by_distance(memories: Sequence[RankingCandidate]) -> list[str]:
    near = [
        (memory.distance, memory.memory_id) for memory in memories if memory.distance is not None
    ]
    if len(near) > BY_DISTANCE:
        near.sort()
    return [memory_id for _, memory_id in near[:BY_DISTANCE]]


def _by_words(
    memories: Sequence[RankingCandidate], statistics: Statistics, beside: Mapping[str, _Sides]
) -> list[str]:
    """Return memories that match words, or have a neighbour that does; only the best of many."""
    having = [
        memory
        for memory in memories
        if memory.matched
        or any(near and near.matched for near in beside.get(memory.memory_id, _ALONE))
    ]
    if len(having) <= BY_WORDS:
        return [memory.memory_id for memory in having]
    bm25 = Bm25(statistics.memories, statistics.holding, statistics.average_length)
    best = []
    for memory in having:
        nearby = bm25.score(memory.matched, memory.length)
        for near in beside.get(memory.memory_id, _ALONE):
            nearby += bm25.score(near.matched, near.length) if near else 0.0
        best.append((-int(nearby * TOLD_APART), memory.memory_id))
    return [memory_id for _, memory_id in sorted(best)[:BY_WORDS]]


def _neighbour(memory: RankingCandidate | None) -> RankedNeighbour | None:
    if memory is None:
        return None
    is_question = _QUESTION in (memory.cues or ())
    return RankedNeighbour(memory.distance, memory.matched, memory.length, is_question)
