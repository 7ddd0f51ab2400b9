"""Candidates of a search in a small scope, selected in Python from all of its memories.

Postgres takes as long to rank a hundred memories by distance, words and age as to read them. The
candidates and their columns are equal to the result of the statement in `candidates.py`, to the
last digit.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select, true

from app.language.bm25 import Bm25, count_holding
from app.memory.retrieval.logic.ranking import RankedNeighbour, RankingCandidate, Statistics
from app.memory.retrieval.store.candidates import (
    BY_DISTANCE,
    BY_WORDS,
    POOL,
    TOLD_APART,
    read_scope,
)

MOST = 200
"""Maximum memories in a small scope. With 200, a search costs the service 0.25 ms more CPU than
a selection in Postgres, and Postgres 0.75 ms less. With more, other requests would wait too long.
"""


class Read(NamedTuple):
    """A memory of the scope; `RankingCandidate` describes the other attributes.

    Attributes:
        age: the time of creation, as a number that ascends with it.
        terms: the number of terms in the query, the same in every memory.
    """

    memory_id: str
    distance: float | None
    matched: int
    length: int
    cues: Sequence[str] | None
    is_question: bool
    source: str | None
    position: float | None
    age: float
    terms: int


_Sides = tuple[Read | None, Read | None]
_ALONE: _Sides = (None, None)


@cache
def of_small_scope(*, with_vectors: bool) -> Select[*tuple[Any, ...]]:
    """Return the statement that reads the scope, at most one memory more than `MOST`.

    Its parameters are the keys of `candidates.values_of`.
    """
    scope, words = read_scope(true(), with_vectors=with_vectors, most=MOST + 1)
    terms = select(func.count(words.c.n.distinct())).scalar_subquery()
    age = func.date_part("epoch", scope.c.create_time)
    columns = {**scope.c, "age": age, "terms": terms}
    return select(*(columns[name] for name in Read._fields))


def candidates_among(memories: Sequence[Read]) -> tuple[Statistics, list[RankingCandidate]]:
    """Return the scope's statistics of the query's terms, and the candidates."""
    if not memories:
        return Statistics(0, (), 0.0), []
    statistics = _statistics(memories)
    beside = _beside(memories)
    chosen = {*_by_distance(memories), *_by_words(memories, statistics, beside)}
    newest_first = sorted(memories, key=attrgetter("age", "memory_id"), reverse=True)
    # The sort is stable, so the other memories keep their order.
    newest_first.sort(key=lambda memory: memory.memory_id not in chosen)
    return statistics, [
        _candidate(memory, beside.get(memory.memory_id, _ALONE)) for memory in newest_first[:POOL]
    ]


def _statistics(memories: Sequence[Read]) -> Statistics:
    holding = count_holding([memory.matched for memory in memories], memories[0].terms)
    average = sum([memory.length for memory in memories]) / len(memories)
    return Statistics(len(memories), holding, average)


def _beside(memories: Sequence[Read]) -> Mapping[str, _Sides]:
    """Return the memories before and after each memory that has a position in a source."""
    sources: dict[str, list[Read]] = defaultdict(list)
    for memory in memories:
        if memory.source is not None:
            sources[memory.source].append(memory)
    return {
        memory.memory_id: sides
        for inside in sources.values()
        for memory, sides in _in_order(inside)
        if memory.position is not None
    }


def _in_order(inside: list[Read]) -> Iterator[tuple[Read, _Sides]]:
    inside.sort(key=_place)
    before = [None, *inside]
    after = [*inside[1:], None]
    return zip(inside, zip(before, after, strict=False), strict=False)


def _place(memory: Read) -> tuple[bool, float, str]:
    return memory.position is None, memory.position or 0.0, memory.memory_id


def _by_distance(memories: Sequence[Read]) -> list[str]:
    near = [
        (memory.distance, memory.memory_id) for memory in memories if memory.distance is not None
    ]
    if len(near) > BY_DISTANCE:
        near.sort()
    return [memory_id for _, memory_id in near[:BY_DISTANCE]]


def _by_words(
    memories: Sequence[Read], statistics: Statistics, beside: Mapping[str, _Sides]
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


def _candidate(memory: Read, beside: _Sides) -> RankingCandidate:
    before, after = beside
    return RankingCandidate(
        memory.memory_id,
        memory.distance,
        memory.matched,
        memory.length,
        memory.cues or (),
        memory.source,
        memory.position,
        _neighbour(before),
        _neighbour(after),
    )


def _neighbour(memory: Read | None) -> RankedNeighbour | None:
    if memory is None:
        return None
    return RankedNeighbour(memory.distance, memory.matched, memory.length, memory.is_question)
