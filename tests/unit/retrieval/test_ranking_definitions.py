"""The signals of a search, computed for all candidates at once, are what their definitions say."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.language.dates import days_between
from app.memory.retrieval.logic.query import RetrievalQuery, read
from app.memory.retrieval.logic.ranking import (
    NO_NEIGHBOUR,
    SIGNALS,
    WEIGHTS,
    RankingCandidate,
    Statistics,
    best_of,
    rank,
)

TERMS = 4
K1, B = 0.9, 0.4
QUERIES = (
    "I like tea",
    "When did Anna go in May 2023?",
    "How many?",
    "",
    "绿茶",
    "Anna: I like tea",
)
CUES: tuple[list[str] | None, ...] = (
    None,
    [],
    ["is:question"],
    ["is:question", "says:own", "has:number"],
    ["subject:anna", "has:time", "time:2023-05-09"],
    ["said:2023-05-30", "time:2022"],
    [read("I like tea", date(2026, 3, 4)).same],
    [read("I like tea", date(2026, 3, 4)).said, "subject:tea"],
)
Number = float | None


@dataclass(frozen=True)
class Definitions:
    """The signals of one search, each written for one candidate."""

    asked: RetrievalQuery
    told: Statistics
    candidates: Sequence[RankingCandidate]

    def values(self) -> list[dict[str, float]]:
        """Return the contribution of each signal, for each candidate."""
        average = self.told.average_length
        brevity = max(0.0, min(1.0, (50 - average) / 30))
        vector = self._z(lambda one: _nearness(one.distance), WEIGHTS.vector)
        words = self._words(WEIGHTS.words * max(brevity, 1 / 3))
        own = {
            one.memory_id: sum(pair)
            for one, *pair in zip(self.candidates, vector, words, strict=True)
        }
        columns = {
            "vector": vector,
            "words": words,
            "nearby_vector": self._nearby(_nearby_vector, WEIGHTS.nearby_vector * brevity),
            "nearby_words": self._nearby(self._nearby_words, WEIGHTS.nearby_words * brevity),
            "source": self._nearby(
                lambda one: max(
                    own[other.memory_id]
                    for other in self.candidates
                    if other.source == one.source and _has_neighbour(other)
                ),
                WEIGHTS.source * brevity,
            ),
            "answers": self._nearby(self._answers, WEIGHTS.answers * brevity),
            "subject": [
                WEIGHTS.subject * (not self.asked.subjects.isdisjoint(one.cues or ()))
                for one in self.candidates
            ],
            "time": [WEIGHTS.time * self._closeness(one) for one in self.candidates],
            "kind": [
                WEIGHTS.kind * bool(set(self.asked.wanted) & set(one.cues or ()))
                for one in self.candidates
            ],
            "question": [
                WEIGHTS.question
                * ("is:question" in (one.cues or ()) and "says:own" not in (one.cues or ()))
                for one in self.candidates
            ],
            "length": self._lengths(WEIGHTS.length * (2 * brevity - 1)),
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _z(
        self, value: Callable[[RankingCandidate], Number], weight: float, *, nearby: bool = False
    ) -> list[float]:
        """Return deviations from the average; `nearby`: of candidates with a neighbour alone."""
        values = [
            None if nearby and not _has_neighbour(one) else value(one) for one in self.candidates
        ]
        known = [one for one in values if one is not None]
        spread = pstdev(known) if known else 0.0
        if spread <= 1e-9:
            return [0.0] * len(values)
        mean = fmean(known)
        return [0.0 if one is None else weight * (one - mean) / spread for one in values]

    def _nearby(self, value: Callable[[RankingCandidate], Number], weight: float) -> list[float]:
        return self._z(value, weight, nearby=True)

    def _rarity(self, n: int) -> float:
        size, holding = self.told.memories, self.told.holding[n]
        return math.log(1 + (max(size, holding) - holding + 0.5) / (holding + 0.5))

    def _weight(self, matched: int) -> float:
        return sum(self._rarity(n) for n in range(TERMS) if matched >> n & 1)

    def _bm25(self, matched: int, length: float) -> float:
        relative = length / max(self.told.average_length, 1)
        return self._weight(matched) * (K1 + 1) / (1 + K1 * (1 - B + B * relative))

    def _words(self, weight: float) -> list[float]:
        counted = [n for n in range(TERMS) if self.told.holding[n] or not self.asked.has_grams]
        most = sum(map(self._rarity, counted))
        scores = self._z(lambda one: self._bm25(one.matched, one.length), 1.0)
        return [
            min(score, 2.5) * weight * min(self._weight(one.matched) / most, 1) if most else 0.0
            for one, score in zip(self.candidates, scores, strict=True)
        ]

    def _nearby_words(self, one: RankingCandidate) -> float:
        matched = one.matched | (one.before_matched or 0) | (one.after_matched or 0)
        lengths = (one.length, one.before_length, one.after_length)
        return self._bm25(matched, fmean(length for length in lengths if length is not None))

    def _answers(self, one: RankingCandidate) -> float:
        if not one.before_is_question:
            return 0.0
        return self._bm25(one.before_matched or 0, one.before_length or 0)

    def _closeness(self, one: RankingCandidate) -> float:
        apart = [
            days_between(time, cue[5:])
            for cue in one.cues or ()
            if cue.startswith(("said:", "time:"))
            for time in self.asked.time.spans
        ]
        return max((math.exp(-days / 7) for days in apart if days is not None), default=0.0)

    def _lengths(self, weight: float) -> list[float]:
        lengths = sorted(one.length for one in self.candidates)
        long = lengths[len(lengths) * 3 // 4]
        values = self._z(lambda one: math.log1p(min(one.length, long)), weight)
        return [max(-0.3, min(value, 0.3)) for value in values]


def _has_neighbour(one: RankingCandidate) -> bool:
    return one.before_length is not None or one.after_length is not None


def _nearness(distance: Number) -> Number:
    return None if distance is None else -(distance**2)


def _nearby_vector(one: RankingCandidate) -> Number:
    near = map(_nearness, (one.distance, one.before_distance, one.after_distance))
    known = [value for value in near if value is not None]
    return fmean(known) if known else None


distances = st.none() | st.floats(0, 2)
matches = st.integers(0, 2**TERMS - 1)
neighbours = st.just(NO_NEIGHBOUR) | st.tuples(
    distances, matches, st.integers(0, 100), st.booleans()
)
memories = st.builds(
    lambda own, before, after: RankingCandidate(*own).between(before, after),
    st.tuples(
        st.uuids().map(str),
        distances,
        matches,
        st.integers(0, 100),
        st.sampled_from(CUES),
        st.none() | st.sampled_from(["a", "b"]),
        st.none() | st.floats(0, 100),
    ),
    neighbours,
    neighbours,
)
searches = st.builds(
    lambda query, candidates, more: Definitions(
        read(query, date(2026, 3, 4)), _statistics(candidates, more), candidates
    ),
    st.sampled_from(QUERIES),
    st.lists(memories, min_size=1, max_size=30, unique_by=lambda one: one.memory_id),
    st.integers(0, 100),
)


def _statistics(candidates: Sequence[RankingCandidate], more: int) -> Statistics:
    holding = [sum(one.matched >> n & 1 for one in candidates) for n in range(TERMS)]
    average = fmean(one.length for one in candidates)
    return Statistics(len(candidates) + more, holding, average)


@given(searches)
def test_each_signal_is_what_its_definition_says(search: Definitions) -> None:
    expected = dict(zip((one.memory_id for one in search.candidates), search.values(), strict=True))
    for hit in rank(search.asked, search.told, search.candidates):
        values = expected[hit.candidate.memory_id]
        assert tuple(values) == SIGNALS
        assert hit.parts == pytest.approx(values, abs=1e-6)
        assert hit.score == pytest.approx(sum(hit.values))


@given(searches)
def test_the_order_is_by_equality_with_the_query_then_score_then_id(search: Definitions) -> None:
    asked = search.asked

    def key(one: RankingCandidate) -> tuple[bool, bool]:
        return asked.same not in (one.cues or ()), asked.said not in (one.cues or ())

    found = rank(asked, search.told, search.candidates)
    keys = [(key(hit.candidate), -hit.score, hit.candidate.memory_id) for hit in found]
    assert keys == sorted(keys)


@given(searches, st.integers(1, 40))
def test_the_best_are_the_first_of_the_order_with_the_unrelated_at_its_end(
    search: Definitions, count: int
) -> None:
    found = rank(search.asked, search.told, search.candidates)
    unrelated = {
        hit.candidate.memory_id
        for hit in found
        if hit.candidate.distance is None
        and not (hit.candidate.matched or hit.parts["subject"] or hit.parts["time"])
        and hit.distance > 0
    }
    best = best_of(search.asked, search.told, search.candidates, count)
    known = [hit for hit in found if hit.candidate.memory_id not in unrelated]
    last = [one.memory_id for one in search.candidates if one.memory_id in unrelated]
    assert list(best) == [*(hit.candidate.memory_id for hit in known), *last][:count]
    for hit in found:
        farthest = max(one.distance for one in found)
        shown = best.get(hit.candidate.memory_id, hit)
        expected = farthest if shown.candidate.memory_id in unrelated else hit.distance
        assert shown is hit or shown.distance == expected
        assert shown.parts == hit.parts
