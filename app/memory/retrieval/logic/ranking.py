"""Orders the candidates of a search by weighted signals. Pure.

A signal marked z counts standard deviations from the average of the candidates; any other is 0
to 1. A signal of which nothing is known, such as vectors while their provider is down, adds
nothing. What the weights are worth, and how they were found: `benchmarks/recall`.

A search makes hundreds of the records here, and to make frozen ones takes thrice as long; nobody
changes one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from app.language.bm25 import Bm25
from app.language.moments import days_between
from app.memory.retrieval.logic.asking import Asked


@dataclass(slots=True)
class Neighbour:
    """The memory before or after a candidate in their source.

    Attributes:
        distance: Euclidean, of unit vectors; None: it has no vector.
        matched: bit n is set where it has term n of the query.
        length: how many different terms it has.
        is_question: its cues have `is:question`. Wanted of the memory before.
    """

    distance: float | None
    matched: int
    length: int
    is_question: bool = False


@dataclass(slots=True)
class Candidate:
    """A memory that may answer a query; the attributes as of `Neighbour`."""

    memory_id: str
    distance: float | None
    matched: int
    length: int
    cues: Sequence[str] = ()
    source: str | None = None
    position: float | None = None
    before: Neighbour | None = None
    after: Neighbour | None = None


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a scope says of the terms of a query.

    Attributes:
        memories: how many memories the scope has.
        holding: for each term, how many of them have it.
        average_length: of the memories of the scope, in different terms.
    """

    memories: int
    holding: Sequence[int]
    average_length: float


@dataclass(frozen=True, slots=True)
class Weights:
    """What each signal counts, by its name.

    Round numbers, one set for every shape of data: `benchmarks/recall` prints what each is worth
    on short turns of talk, short facts, first-person memories and long messages.
    """

    vector: float = 0.8
    """z: the cosine of the fact and the query."""
    words: float = 1.2
    """z: BM25 of the fact, at most 2.5, times the share of the query's rarity that it covers."""
    nearby_vector: float = 0.4
    """z: the average cosine of the fact and those before and after it in its source."""
    nearby_words: float = 0.5
    """z: BM25 of the three as one text."""
    source: float = 0.5
    """z: the best of the candidates of its source, by `vector` and `words`."""
    answers: float = 0.2
    """z: BM25 of the memory before, if that is a question: its answer follows."""
    subject: float = 1.0
    """The query names whom the fact is about."""
    time: float = 3.0
    """How near a time of the fact is to one that the query names; 1: the same, 1/e: a week off."""
    kind: float = 0.5
    """The fact has what the query asks for: a time or a number."""
    question: float = -0.3
    """The fact is a question, and so no answer; unless it says something in the first person."""
    length: float = 0.2
    """z: the logarithm of its different terms, none more than in the longest quarter; at most 0.3
    either way. Among long memories, the other way round."""


WEIGHTS = Weights()
SIGNALS = tuple(field.name for field in fields(Weights))

_DAYS_OFF = 7.0
_LEAST_SPREAD = 1e-9
_OF_TIME = ("said:", "time:")
# What cues tell. The two greatest say that the query is the fact, or what somebody says by it.
_SUBJECT, _KIND, _QUESTION, _STATES, _SAID, _EXACT = 1, 2, 4, 8, 16, 32
_SAME, _ASKING = _SAID | _EXACT, _QUESTION | _STATES
_MOST_WORDS = 2.5
"""Standard deviations that words may count."""
_MOST_LENGTH = 0.3
_SHORT, _LONG = 20.0, 50.0
"""Different terms, on average. Of a scope of short memories, what stands beside one tells what it
is about, and a word that it shares with the query is no chance; of long messages neither holds."""
_WORDS_OF_LONG = 1 / 3

# Of the distance, fixed so that distances of different queries compare. That of the best says how
# well the query is met at all; the others follow by how far their score is behind.
_BEHIND = 1.25
_STEEPNESS, _MIDDLE = 7.5, 0.45


@dataclass(slots=True)
class Ranked:
    """A candidate in its place.

    Attributes:
        candidate: the memory.
        score: the sum of the parts; compares within one query only.
        distance: 0 to 2, ascending with the place; compares between queries.
        values: what each signal adds to the score, in the order of `SIGNALS`.
    """

    candidate: Candidate
    score: float
    distance: float
    values: Sequence[float]

    @property
    def parts(self) -> Mapping[str, float]:
        """What each signal adds to the score, by its name."""
        return dict(zip(SIGNALS, self.values, strict=True))


def rank(
    asked: Asked,
    statistics: Statistics,
    candidates: Sequence[Candidate],
    weights: Weights = WEIGHTS,
) -> list[Ranked]:
    """Return the candidates, best first. The order is total, whatever order they come in."""
    if not candidates:
        return []
    average = statistics.average_length
    bm25 = Bm25(statistics.memories, statistics.holding, average)
    told = _told(asked, candidates)
    values = list(zip(*_signals(asked, bm25, candidates, told, weights, average), strict=True))
    placed = sorted(
        zip(candidates, values, map(sum, values), told, strict=True),
        key=lambda one: (-(one[3] & _SAME), -one[2], one[0].memory_id),
    )
    best = max(score for _, _, score, _ in placed)
    base = _STEEPNESS * (_met(bm25, candidates) - _MIDDLE) - best / _BEHIND
    return [
        Ranked(one, score, 0.0 if flags & _SAME else _distance(base + score / _BEHIND), parts)
        for one, parts, score, flags in placed
    ]


def _distance(score: float) -> float:
    """Return 2 * (1 - sigmoid(score))."""
    return 2 / (1 + math.exp(score))


def _met(bm25: Bm25, candidates: Sequence[Candidate]) -> float:
    """Return how well the query is met at all, 0 to 1: by meaning twice, by its words once."""
    nearest = min((one.distance for one in candidates if one.distance is not None), default=None)
    covered = max(bm25.share(matched) or 0.0 for matched in {one.matched for one in candidates})
    if nearest is None:
        return covered
    cosine = max(0.0, 1 - nearest * nearest / 2)
    return cosine if bm25.share(0) is None else (2 * cosine + covered) / 3


def _told(asked: Asked, candidates: Sequence[Candidate]) -> list[int]:
    """Return what the cues of each candidate tell, as bits."""
    bits = dict.fromkeys(asked.wanted, _KIND) | dict.fromkeys(asked.subjects, _SUBJECT)
    bits |= {"is:question": _QUESTION, "says:own": _STATES, asked.said: _SAID, asked.same: _EXACT}
    told = []
    for one in candidates:
        flags = 0
        for cue in one.cues:
            flags |= bits.get(cue, 0)
        told.append(flags)
    return told


def _signals(
    asked: Asked,
    bm25: Bm25,
    candidates: Sequence[Candidate],
    told: Sequence[int],
    weights: Weights,
    average_length: float,
) -> list[list[float]]:
    """Return what each signal adds to the candidates, in the order of `SIGNALS`."""
    brevity = _brevity(average_length)
    vector = _standard([_nearness(one) for one in candidates], weights.vector)
    words = _words(bm25, candidates, weights.words * max(brevity, _WORDS_OF_LONG))
    return [
        vector,
        words,
        *_nearby(bm25, candidates, vector, words, weights, brevity),
        [weights.subject if flags & _SUBJECT else 0.0 for flags in told],
        _times(asked.times, candidates, weights.time),
        [weights.kind if flags & _KIND else 0.0 for flags in told],
        [weights.question if flags & _ASKING == _QUESTION else 0.0 for flags in told],
        # A longer fact tells more; of long messages, the shorter one is to the point.
        _lengths(candidates, weights.length * (2 * brevity - 1)),
    ]


def _brevity(average_length: float) -> float:
    """Return 1 for a scope of short memories, 0 for one of long ones."""
    return max(0.0, min(1.0, (_LONG - average_length) / (_LONG - _SHORT)))


def _words(bm25: Bm25, candidates: Sequence[Candidate], weight: float) -> list[float]:
    """Return how far BM25 is above the average, as far as the words of the query are covered.

    Among memories that have none of the query's words, a single common one is far above.
    """
    told = [(one.matched, one.length) for one in candidates]
    known = {one: bm25.score(*one) for one in set(told)}
    scores = _standard([known[one] for one in told], 1.0)
    shares = {matched: weight * (bm25.share(matched) or 0.0) for matched, _ in known}
    return [
        min(score, _MOST_WORDS) * share if (share := shares[matched]) else 0.0
        for (matched, _), score in zip(told, scores, strict=True)
    ]


def _nearby(
    bm25: Bm25,
    candidates: Sequence[Candidate],
    vector: Sequence[float],
    words: Sequence[float],
    weights: Weights,
    brevity: float,
) -> list[list[float]]:
    """Return what the source says of those that have a neighbour there; of others it says 0.

    What is around a memory that stands alone is the memory itself, which would count twice.
    """
    having = [n for n, one in enumerate(candidates) if one.before or one.after]
    if not having or not brevity:
        return [[0.0] * len(candidates)] * 4
    found = [candidates[n] for n in having]
    own = [vector[n] + words[n] for n in having]
    signals = (
        _standard([_nearby_nearness(one) for one in found], weights.nearby_vector * brevity),
        _standard([_nearby_words(bm25, one) for one in found], weights.nearby_words * brevity),
        _standard(_best_of_source(found, own), weights.source * brevity),
        _standard([_answers(bm25, one) for one in found], weights.answers * brevity),
    )
    return [_at(having, values, len(candidates)) for values in signals]


def _at(places: Sequence[int], values: Sequence[float], count: int) -> list[float]:
    if len(values) == count:
        return list(values)
    placed = [0.0] * count
    for place, value in zip(places, values, strict=True):
        placed[place] = value
    return placed


def _lengths(candidates: Sequence[Candidate], weight: float) -> list[float]:
    """Return what the lengths add: bounded, and beyond the longest quarter no more."""
    lengths = [one.length for one in candidates]
    long = sorted(lengths)[len(lengths) * 3 // 4]
    known = {length: math.log1p(min(length, long)) for length in set(lengths)}
    found = _standard([known[length] for length in lengths], weight)
    if min(found) >= -_MOST_LENGTH and max(found) <= _MOST_LENGTH:
        return found
    return [max(-_MOST_LENGTH, min(value, _MOST_LENGTH)) for value in found]


def _standard(values: Sequence[float | None], weight: float) -> list[float]:
    """Return the standard deviations from the average, weighted; what is unknown is average."""
    known = [value for value in values if value is not None]
    if not known:
        return [0.0] * len(values)
    # Exact sums, so that the order of the candidates does not matter.
    mean = math.fsum(known) / len(known)
    apart = [value - mean for value in known]
    spread = math.sqrt(math.fsum([value * value for value in apart]) / len(known))
    scale = weight / spread if spread > _LEAST_SPREAD else 0.0
    if len(known) == len(values):
        return [value * scale for value in apart]
    return [0.0 if value is None else (value - mean) * scale for value in values]


def _nearness(one: Candidate) -> float | None:
    """Return what ascends with the cosine."""
    return None if one.distance is None else -one.distance * one.distance


def _nearby_nearness(one: Candidate) -> float | None:
    total, known = 0.0, 0
    for near in (one, one.before, one.after):
        if near is not None and near.distance is not None:
            total -= near.distance * near.distance
            known += 1
    return total / known if known else None


def _nearby_words(bm25: Bm25, one: Candidate) -> float:
    """Return BM25 of a candidate and its neighbours as one text, of their average length."""
    matched, length, texts = one.matched, one.length, 1
    for near in (one.before, one.after):
        if near is not None:
            matched |= near.matched
            length += near.length
            texts += 1
    return bm25.score(matched, length / texts)


def _best_of_source(candidates: Sequence[Candidate], own: Sequence[float]) -> list[float | None]:
    """Return the best of the source of each."""
    best: dict[str | None, float] = {}
    for one, value in zip(candidates, own, strict=True):
        if value > best.get(one.source, -math.inf):
            best[one.source] = value
    return [best[one.source] for one in candidates]


def _answers(bm25: Bm25, one: Candidate) -> float:
    before = one.before
    if before is None or not before.is_question:
        return 0.0
    return bm25.score(before.matched, before.length)


def _times(asked: Sequence[str], candidates: Sequence[Candidate], weight: float) -> list[float]:
    if not asked:
        return [0.0] * len(candidates)
    cues = {cue for one in candidates for cue in one.cues if cue.startswith(_OF_TIME)}
    near = {cue: _closeness(asked, cue[5:]) for cue in cues}
    return [
        weight * max([near.get(cue, 0.0) for cue in one.cues], default=0.0) for one in candidates
    ]


def _closeness(asked: Sequence[str], moment: str) -> float:
    apart = [days_between(one, moment) for one in asked]
    days = min((found for found in apart if found is not None), default=None)
    return 0.0 if days is None else math.exp(-days / _DAYS_OFF)
