"""Ranking of the candidates of a search by weighted signals.

A signal marked z is measured in standard deviations from the average of the candidates. Any other
signal is in the range 0 to 1. A signal without data, such as vectors while their provider is
unavailable, adds nothing. `benchmarks/recall` documents the effect of the weights and their source.

The candidates are also read by columns: a loop over one column takes half the time of a loop over
attributes of candidates. Arrays of numpy would gain nothing more: for a hundred candidates, its
calls take as long as these loops.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from typing import Any, NamedTuple

from app.language.bm25 import Bm25
from app.language.dates import days_between, days_of
from app.language.spans import Order
from app.memory.retrieval.logic.query import RetrievalQuery

Neighbour = tuple[float | None, int | None, int | None, bool | None]
"""The `NEIGHBOUR_FIELDS` of a memory, or `NO_NEIGHBOUR`."""


class RankingCandidate(NamedTuple):
    """A memory that may answer a query, and its neighbours: the memories around it in its source.

    Its own attributes except for `COMPUTED` are columns of memories, by name, or hybrid properties.
    To use another one for a signal, add it before `before_distance`, with a default: every search
    selects it. All attributes of a neighbour are None if there is none.

    Attributes:
        distance: Euclidean, between unit vectors; None without a vector.
        matched: bit n is set if the memory has term n of the query.
        length: the number of its different terms.
        before_is_question: True if its cues have `is:question`; unused of the memory after.
    """

    memory_id: str
    distance: float | None
    matched: int
    length: int
    cues: Sequence[str] | None = None
    source: str | None = None
    position: float | None = None
    before_distance: float | None = None
    before_matched: int | None = None
    before_length: int | None = None
    before_is_question: bool | None = None
    after_distance: float | None = None
    after_matched: int | None = None
    after_length: int | None = None
    after_is_question: bool | None = None

    @property
    def has_neighbour(self) -> bool:
        """True if there is a memory before or after it."""
        return self.before_matched is not None or self.after_matched is not None

    @classmethod
    def alone(cls, own: tuple[Any, ...]) -> "RankingCandidate":
        """Return a candidate without neighbours, of its `CANDIDATE_FIELDS`; as fast as can be."""
        return tuple.__new__(cls, own + _ALONE)

    def between(self, before: Neighbour, after: Neighbour) -> "RankingCandidate":
        """Return the candidate with its neighbours."""
        return RankingCandidate._make((*self[: len(CANDIDATE_FIELDS)], *before, *after))


COMPUTED = frozenset({"distance", "matched", "length"})
"""Attributes of a candidate that a search computes."""
NEIGHBOUR_FIELDS = ("distance", "matched", "length", "is_question")
"""Attributes of a neighbour; a candidate has them under names with `before_` and `after_`."""
NO_NEIGHBOUR: Neighbour = (None, None, None, None)
_ALONE = (*NO_NEIGHBOUR, *NO_NEIGHBOUR)
CANDIDATE_FIELDS = tuple(
    name for name in RankingCandidate._fields if not name.startswith(("before_", "after_"))
)
"""Attributes of a candidate itself."""
_Columns = Any
"""A `RankingCandidate` that has, as each attribute, a tuple of its values in all candidates."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """A scope's statistics about the terms of a query; `holding` counts the memories of each.

    `average_length` is the average number of different terms in the memories of the scope.
    """

    memories: int
    holding: Sequence[int]
    average_length: float


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each signal: round numbers, the same for every shape of data."""

    vector: float = 0.8
    """z: the cosine of the fact and the query."""
    words: float = 1.2
    """z: BM25 of the fact, at most 2.5, times the covered share of the query's rarity."""
    nearby_vector: float = 0.4
    """z: the average cosine of the fact and its neighbours in the source."""
    nearby_words: float = 0.5
    """z: BM25 of the fact and both neighbours as one text."""
    source: float = 0.5
    """z: the score of the best candidate from its source, by `vector` and `words`."""
    answers: float = 0.2
    """z: BM25 of the memory before if that is a question, since this memory may be its answer."""
    subject: float = 1.0
    """The query names the subject of the fact."""
    time: float = 4.0
    """1 for a time of the fact within the times of the query, 0.5 right beside them, 0.5/e for a
    week apart; 0.75 if only the day of its words is within, and it names another. In an order of
    time, the best candidates are also put into it."""
    kind: float = 0.5
    """The fact has the kind of value that the query asks for: a time or a number."""
    question: float = -0.3
    """The fact is a question, so no answer, unless it states something in the first person."""
    length: float = 0.2
    """z: the logarithm of its different terms, capped at the longest quarter and between -0.3 and
    0.3. Among long memories the sign is reversed."""


WEIGHTS = Weights()
SIGNALS = tuple(attribute.name for attribute in fields(Weights))

_DAYS_OFF = 7.0
"""Days outside the times of a query that divide the closeness by e."""
_OUTSIDE = 0.5
_SAID_BESIDE = 0.75
_AS_GOOD = 0.4
"""Share of the best score's lead over the average that a candidate in an order of time may lack."""
_ALIKE = 0.3
"""Difference of scores that never tells two candidates apart in an order of time."""
_LEAST_SHARE = 0.5
"""Share of the words of an event that its memory must have."""
_OF_YEAR = len("time:2026")
_LEAST_SPREAD = 1e-9
_OF_TIME = _SAID_ON, _NAMED = ("said:", "time:")
# Flags of search hints. The two highest mean that the query is the fact, or the fact after a name.
_SUBJECT, _KIND, _QUESTION, _STATES, _SAID, _EXACT = 1, 2, 4, 8, 16, 32
_SAME, _ASKING = _SAID | _EXACT, _QUESTION | _STATES
_MOST_WORDS = 2.5
"""Maximum standard deviations that words may contribute."""
_MOST_LENGTH = 0.3
_SHORT, _LONG = 20.0, 50.0
"""Average numbers of different terms. In a scope of short memories, neighbours indicate the topic
of a memory, and a shared word is no coincidence. For long messages, neither is true."""
_WORDS_OF_LONG = 1 / 3

# Constants of the distance, fixed so that distances of different queries can be compared. The best
# distance expresses how well any memory matches the query. The others follow from how far their
# scores are behind the best.
_BEHIND = 1.25
_STEEPNESS, _MIDDLE = 7.5, 0.45


class Ranked(NamedTuple):
    """A ranked candidate.

    Attributes:
        score: the sum of the parts; comparable only within one query.
        distance: 0 to 2, ascending with the rank; comparable between queries.
        values: the contribution of each signal to the score, in the order of `SIGNALS`.
    """

    candidate: RankingCandidate
    score: float
    distance: float
    values: Sequence[float]

    @property
    def parts(self) -> Mapping[str, float]:
        """Contribution of each signal to the score, by name."""
        return dict(zip(SIGNALS, self.values, strict=True))


def rank(
    asked: RetrievalQuery,
    statistics: Statistics,
    candidates: Sequence[RankingCandidate],
    weights: Weights = WEIGHTS,
    most: int | None = None,
) -> list[Ranked]:
    """Return the best candidates, best first; the order does not depend on the input order."""
    if not candidates:
        return []
    columns: _Columns = RankingCandidate._make(zip(*candidates, strict=True))
    average = statistics.average_length
    bm25 = Bm25(statistics.memories, statistics.holding, average, has_grams=asked.has_grams)
    flags_of_all = _hint_flags(asked, columns.cues)
    signals = _signals(asked, bm25, candidates, columns, flags_of_all, weights, average)
    if asked.time.order is not None and weights.time:
        signals["time"] = _ordered(asked.time.order, columns.cues, signals)
    none = [0.0] * len(candidates)
    parts = [signals.get(name, none) for name in SIGNALS]
    scores = [*map(sum, zip(*(part for part in parts if part is not none), strict=True))]
    base = _STEEPNESS * (_coverage(bm25, columns) - _MIDDLE) - max(scores) / _BEHIND
    ranked = []
    for place in _best_places(flags_of_all, scores, columns.memory_id, most):
        is_same = flags_of_all[place] & _SAME
        distance = 0.0 if is_same else _distance(base + scores[place] / _BEHIND)
        values = [part[place] for part in parts]
        ranked.append(Ranked(candidates[place], scores[place], distance, values))
    return ranked


def _best_places(
    flags_of_all: Sequence[int], scores: Sequence[float], ids: Sequence[str], most: int | None
) -> list[int]:
    """Return the places of the best candidates, best first: exact ones, then by score, then id."""
    places: Iterable[int] = range(len(ids))
    if most is not None and most < len(ids):
        least = sorted(scores, reverse=True)[most - 1]
        places = [n for n in places if scores[n] >= least or flags_of_all[n] & _SAME]
    return sorted(places, key=lambda n: (-(flags_of_all[n] & _SAME), -scores[n], ids[n]))[:most]


def best_of(
    asked: RetrievalQuery,
    statistics: Statistics,
    candidates: Sequence[RankingCandidate],
    count: int,
    weights: Weights = WEIGHTS,
) -> dict[str, Ranked]:
    """Return the best candidates by id, best first.

    Those without any relation to the query come last, in the order of `candidates`.
    """
    are_related = all(each.distance is not None or each.matched for each in candidates)
    ranked = rank(asked, statistics, candidates, weights, count if are_related else None)
    unrelated = {hit.candidate.memory_id: hit for hit in ranked if _is_unrelated(hit)}
    if unrelated:
        farthest = ranked[-1].distance
        known = [hit for hit in ranked if hit.candidate.memory_id not in unrelated]
        ranked = known + [
            unrelated[candidate.memory_id]._replace(distance=farthest)
            for candidate in candidates
            if candidate.memory_id in unrelated
        ]
    return {hit.candidate.memory_id: hit for hit in ranked[:count]}


def _is_unrelated(hit: Ranked) -> bool:
    has_words = hit.candidate.distance is not None or hit.candidate.matched > 0
    return not (has_words or hit.parts["subject"] or hit.parts["time"] or hit.distance == 0)


def _distance(score: float) -> float:
    return 2 / (1 + math.exp(score))


def _coverage(bm25: Bm25, columns: _Columns) -> float:
    """Return how well any candidate matches the query, 0 to 1; meaning counts twice as much."""
    nearest = min(_known(columns.distance), default=None)
    covered = max(bm25.share(matched) or 0.0 for matched in set(columns.matched))
    if nearest is None:
        return covered
    cosine = max(0.0, 1 - nearest * nearest / 2)
    return cosine if bm25.share(0) is None else (2 * cosine + covered) / 3


def _hint_flags(asked: RetrievalQuery, cues_of_all: Sequence[Sequence[str] | None]) -> list[int]:
    bits = dict.fromkeys(asked.wanted, _KIND) | dict.fromkeys(asked.subjects, _SUBJECT)
    bits |= {"is:question": _QUESTION, "says:own": _STATES, asked.said: _SAID, asked.same: _EXACT}
    flags_of_all = []
    for cues in cues_of_all:
        flags = 0
        for cue in cues or ():
            if cue in bits:
                flags |= bits[cue]
        flags_of_all.append(flags)
    return flags_of_all


def _signals(
    asked: RetrievalQuery,
    bm25: Bm25,
    candidates: Sequence[RankingCandidate],
    columns: _Columns,
    flags_of_all: Sequence[int],
    weights: Weights,
    average_length: float,
) -> dict[str, list[float]]:
    """Return the contributions to the scores by signal, without signals that add nothing."""
    brevity = _brevity(average_length)
    vector = _standard(_nearness(columns.distance), weights.vector)
    words = _words(bm25, columns, weights.words * max(brevity, _WORDS_OF_LONG))
    signals = {
        "vector": vector,
        "words": words,
        # A longer fact contains more; among long messages, a shorter one is more relevant.
        "length": _lengths(columns.length, weights.length * (2 * brevity - 1)),
    }
    if any(flags_of_all):
        signals |= _hints(flags_of_all, weights)
    if asked.time.spans:
        signals["time"] = _times(asked, columns.cues, weights.time)
    if brevity and {*columns.before_matched, *columns.after_matched} != {None}:
        signals |= _nearby(bm25, candidates, vector, words, weights, brevity)
    return signals


def _hints(flags_of_all: Sequence[int], weights: Weights) -> dict[str, list[float]]:
    subject, kind, question = weights.subject, weights.kind, weights.question
    return {
        "subject": [subject if flags & _SUBJECT else 0.0 for flags in flags_of_all],
        "kind": [kind if flags & _KIND else 0.0 for flags in flags_of_all],
        "question": [question if flags & _ASKING == _QUESTION else 0.0 for flags in flags_of_all],
    }


def _brevity(average_length: float) -> float:
    """Return 1 for a scope of short memories, 0 for one of long memories, or a value between."""
    return max(0.0, min(1.0, (_LONG - average_length) / (_LONG - _SHORT)))


def _words(bm25: Bm25, columns: _Columns, weight: float) -> list[float]:
    """Return BM25 in deviations above the average, times the covered share of the query."""
    # Without that share, a single common word would have a high score if few candidates match.
    matched = columns.matched
    scores = _standard(bm25.scores(matched, columns.length), 1.0)
    shares = {bits: weight * (bm25.share(bits) or 0.0) for bits in set(matched)}
    return [
        min(score, _MOST_WORDS) * share if (share := shares[bits]) else 0.0
        for bits, score in zip(matched, scores, strict=True)
    ]


def _nearby(
    bm25: Bm25,
    candidates: Sequence[RankingCandidate],
    vector: Sequence[float],
    words: Sequence[float],
    weights: Weights,
    brevity: float,
) -> dict[str, list[float]]:
    """Return the signals of the source for candidates that have a neighbour; 0 for the others."""
    # Without neighbours, these signals would only repeat the scores of the memory itself.
    having = [n for n, candidate in enumerate(candidates) if candidate.has_neighbour]
    near = [candidates[n] for n in having]
    own = [vector[n] + words[n] for n in having]
    measured: dict[str, tuple[Sequence[float | None], float]] = {
        "nearby_vector": ([_nearby_nearness(each) for each in near], weights.nearby_vector),
        "nearby_words": ([_nearby_words(bm25, each) for each in near], weights.nearby_words),
        "source": (_best_of_source(near, own), weights.source),
        "answers": ([_answers(bm25, each) for each in near], weights.answers),
    }
    return {
        name: _scatter(having, _standard(values, weight * brevity), len(candidates))
        for name, (values, weight) in measured.items()
    }


def _scatter(places: Sequence[int], values: Sequence[float], count: int) -> list[float]:
    if len(values) == count:
        return list(values)
    placed = [0.0] * count
    for place, value in zip(places, values, strict=True):
        placed[place] = value
    return placed


def _lengths(lengths: Sequence[int], weight: float) -> list[float]:
    """Return the contribution of lengths: bounded, and constant beyond the longest quarter."""
    long = sorted(lengths)[len(lengths) * 3 // 4]
    known = {length: math.log1p(min(length, long)) for length in set(lengths)}
    values = _standard([known[length] for length in lengths], weight)
    return [
        value if abs(value) < _MOST_LENGTH else math.copysign(_MOST_LENGTH, value)
        for value in values
    ]


def _standard(values: Sequence[float | None], weight: float) -> list[float]:
    known = _known(values)
    if not known:
        return [0.0] * len(values)
    # `fsum` is exact, so the result does not depend on the order of the candidates.
    mean = math.fsum(known) / len(known)
    apart = [value - mean for value in known]
    spread = math.sqrt(math.fsum([value * value for value in apart]) / len(known))
    scale = weight / spread if spread > _LEAST_SPREAD else 0.0
    if len(known) == len(values):
        return [value * scale for value in apart]
    return [0.0 if value is None else (value - mean) * scale for value in values]


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _nearness(distances: Sequence[float | None]) -> list[float | None]:
    return [None if distance is None else -distance * distance for distance in distances]


def _nearby_nearness(candidate: RankingCandidate) -> float | None:
    around = (candidate.distance, candidate.before_distance, candidate.after_distance)
    squares = [distance * distance for distance in around if distance is not None]
    return (0.0 - sum(squares)) / len(squares) if squares else None


def _nearby_words(bm25: Bm25, candidate: RankingCandidate) -> float:
    """Return BM25 of a candidate and its neighbours as one text, of their average length."""
    matched = candidate.matched | (candidate.before_matched or 0) | (candidate.after_matched or 0)
    around = (candidate.length, candidate.before_length, candidate.after_length)
    lengths = [length for length in around if length is not None]
    return bm25.score(matched, sum(lengths) / len(lengths))


def _best_of_source(
    candidates: Sequence[RankingCandidate], own: Sequence[float]
) -> list[float | None]:
    best: dict[str | None, float] = {}
    for candidate, value in zip(candidates, own, strict=True):
        if value > best.get(candidate.source, -math.inf):
            best[candidate.source] = value
    return [best[candidate.source] for candidate in candidates]


def _answers(bm25: Bm25, candidate: RankingCandidate) -> float:
    if not candidate.before_is_question:
        return 0.0
    return bm25.score(candidate.before_matched or 0, candidate.before_length or 0)


def _times(
    asked: RetrievalQuery, cues_of_all: Sequence[Sequence[str] | None], weight: float
) -> list[float]:
    cues = {cue for each in cues_of_all for cue in each or () if cue.startswith(_OF_TIME)}
    # A year in a memory tells of no day.
    near = {cue: _closeness(asked.time.spans, cue[5:]) for cue in cues if len(cue) > _OF_YEAR}
    return [weight * _meets(near, each or ()) for each in cues_of_all]


def _meets(near: Mapping[str, float], cues: Sequence[str]) -> float:
    """Return how well a memory meets the times of a query; what it names counts before its day."""
    named = max((near[cue] for cue in cues if cue.startswith(_NAMED) and cue in near), default=None)
    said = max((near[cue] for cue in cues if cue.startswith(_SAID_ON)), default=None)
    if named is None or said is None:
        return named or said or 0.0
    return max(named, said * _SAID_BESIDE)


def _closeness(asked: Sequence[str], moment: str) -> float:
    apart = [days_between(time, moment) for time in asked]
    days = min((days for days in apart if days is not None), default=None)
    if days is None:
        return 0.0
    return _OUTSIDE * math.exp(-days / _DAYS_OFF) if days else 1.0


def _ordered(
    order: Order,
    cues_of_all: Sequence[Sequence[str] | None],
    signals: Mapping[str, Sequence[float]],
) -> list[float]:
    """Return the signal of time that also puts the candidates that fit best into an order."""
    scores = [math.fsum(parts) for parts in zip(*signals.values(), strict=True)]
    best = max(scores)
    lead = best - math.fsum(scores) / len(scores)
    least = best - max(_ALIKE, _AS_GOOD * lead)
    # What comes next has been named; of all else, it counts when it was said.
    prefixes = (_NAMED, _SAID_ON) if order is Order.NEXT else (_SAID_ON, _NAMED)
    days = [next(_days(cues, prefixes), 0) for cues in cues_of_all]
    fitting = [n for n, score in enumerate(scores) if score >= least and days[n]]
    fitting.sort(key=lambda n: days[n], reverse=order is not Order.NEWEST)
    ordered = [*signals.get("time", [0.0] * len(scores))]
    for place, n in enumerate(fitting, 1):
        ordered[n] += best - scores[n] + place / len(fitting)
    return ordered


def _days(cues: Sequence[str] | None, prefixes: Sequence[str]) -> Iterator[int]:
    """Yield the first days of the dates in hints, in the order of the prefixes."""
    for prefix in prefixes:
        for cue in cues or ():
            if cue.startswith(prefix) and (days := days_of(cue[5:])) is not None:
                yield days[0]


def moment_of(statistics: Statistics, candidates: Sequence[RankingCandidate]) -> str | None:
    """Return the date of the memory whose words fit an event best, if it has most of them."""
    # Words that no memory has do not count.
    bm25 = Bm25(statistics.memories, statistics.holding, statistics.average_length, has_grams=True)
    scores = [bm25.score(each.matched, each.length) for each in candidates]
    best = candidates[scores.index(max(scores))] if candidates else None
    if best is None or (bm25.share(best.matched) or 0.0) < _LEAST_SHARE:
        return None
    day = next(_days(best.cues, (_NAMED, _SAID_ON)), None)
    return None if day is None else date.fromordinal(day).isoformat()
