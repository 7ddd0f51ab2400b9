"""The candidates of a search in a small scope: all its memories are read, and chosen from here.

Postgres takes as long to number a hundred memories by their distance, words and age as to read
them. What is chosen, and what is told of it, is what the statement of `candidates.py`
chooses and tells, to the last digit.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select, true

from app.language.bm25 import Bm25
from app.memory.retrieval.logic.ranking import Candidate, Neighbour, Statistics
from app.memory.retrieval.store.candidates import (
    BY_DISTANCE,
    BY_WORDS,
    POOL,
    TOLD_APART,
    read_scope,
)

MOST = 200
"""Memories of a small scope. Of 200, a search costs the service 0.25 ms of CPU more than where
Postgres chooses, and that 0.75 ms less; the more there are, the longer other requests would wait.
"""


class Read(NamedTuple):
    """A memory of the scope; the attributes are as of `Candidate`.

    Attributes:
        age: ascends with the time of creation.
        terms: how many terms the query has, in every memory the same.
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
    """Return the statement that reads the scope, one memory more than `MOST` at most.

    It has places for the values that `of_whole_scope` gives.
    """
    found, words = read_scope(true(), with_vectors=with_vectors, most=MOST + 1)
    terms = select(func.count(words.c.n.distinct())).scalar_subquery()
    age = func.date_part("epoch", found.c.create_time)
    columns = {**found.c, "age": age, "terms": terms}
    return select(*(columns[name] for name in Read._fields))


def candidates_among(memories: Sequence[Read]) -> tuple[Statistics, list[Candidate]]:
    """Return what the scope says of the query's terms, and what may answer."""
    if not memories:
        return Statistics(0, (), 0.0), []
    statistics = _statistics(memories)
    beside = _beside(memories)
    chosen = {*_by_distance(memories), *_by_words(memories, statistics, beside)}
    newest_first = sorted(memories, key=attrgetter("age", "memory_id"), reverse=True)
    # In place: the others keep their order.
    newest_first.sort(key=lambda one: one.memory_id not in chosen)
    return statistics, [
        _candidate(one, beside.get(one.memory_id, _ALONE)) for one in newest_first[:POOL]
    ]


def _statistics(memories: Sequence[Read]) -> Statistics:
    patterns = Counter([one.matched for one in memories])
    holding = [
        sum(count for matched, count in patterns.items() if matched >> n & 1)
        for n in range(memories[0].terms)
    ]
    average = sum([one.length for one in memories]) / len(memories)
    return Statistics(len(memories), holding, average)


def _beside(memories: Sequence[Read]) -> Mapping[str, _Sides]:
    """Return the memories before and after each that has a place in a source."""
    sources: dict[str, list[Read]] = defaultdict(list)
    for one in memories:
        if one.source is not None:
            sources[one.source].append(one)
    return {
        one.memory_id: sides
        for inside in sources.values()
        for one, sides in _in_order(inside)
        if one.position is not None
    }


def _in_order(inside: list[Read]) -> Iterator[tuple[Read, _Sides]]:
    inside.sort(key=_place)
    before = [None, *inside]
    after = [*inside[1:], None]
    return zip(inside, zip(before, after, strict=False), strict=False)


def _place(one: Read) -> tuple[bool, float, str]:
    return one.position is None, one.position or 0.0, one.memory_id


def _by_distance(memories: Sequence[Read]) -> list[str]:
    near = [(one.distance, one.memory_id) for one in memories if one.distance is not None]
    if len(near) > BY_DISTANCE:
        near.sort()
    return [memory_id for _, memory_id in near[:BY_DISTANCE]]


def _by_words(
    memories: Sequence[Read], statistics: Statistics, beside: Mapping[str, _Sides]
) -> list[str]:
    """Return those that have words themselves or beside them, the best if there are many."""
    having = [
        one
        for one in memories
        if one.matched or any(near and near.matched for near in beside.get(one.memory_id, _ALONE))
    ]
    if len(having) <= BY_WORDS:
        return [one.memory_id for one in having]
    bm25 = Bm25(statistics.memories, statistics.holding, statistics.average_length)
    best = []
    for one in having:
        nearby = bm25.score(one.matched, one.length)
        for near in beside.get(one.memory_id, _ALONE):
            nearby += bm25.score(near.matched, near.length) if near else 0.0
        best.append((-int(nearby * TOLD_APART), one.memory_id))
    return [memory_id for _, memory_id in sorted(best)[:BY_WORDS]]


def _candidate(one: Read, beside: _Sides) -> Candidate:
    before, after = beside
    return Candidate(
        one.memory_id,
        one.distance,
        one.matched,
        one.length,
        one.cues or (),
        one.source,
        one.position,
        _neighbour(before),
        _neighbour(after),
    )


def _neighbour(one: Read | None) -> Neighbour | None:
    if one is None:
        return None
    return Neighbour(one.distance, one.matched, one.length, one.is_question)
