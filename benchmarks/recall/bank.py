"""Memories and questions, and what the service's statement would hand to its ranking."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

import numpy as np

from app.adapters.llm.ports import Vectors
from app.language.bm25 import Bm25
from app.memory.memories.logic.search_hints import search_hints_of
from app.memory.retrieval.logic.query import RetrievalQuery, read
from app.memory.retrieval.logic.ranking import (
    CANDIDATE_FIELDS,
    COMPUTED,
    NO_NEIGHBOUR,
    RankingCandidate,
    Statistics,
)
from app.memory.retrieval.store.candidates import BY_DISTANCE
from app.memory.retrieval.store.nearest import BY_WORDS, POOL
from benchmarks.recall.sources import Lexemes

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Memory:
    """A memory as it is stored."""

    memory_id: str
    fact: str
    language: str
    cues: Sequence[str]
    source: str | None = None
    position: float | None = None

    @classmethod
    def of(
        cls,
        memory_id: str,
        fact: str,
        place: tuple[str, int] | None = None,
        time: str | None = None,
    ) -> "Memory":
        """Write a memory, with its place in a source and its time where they are known."""
        said_at = datetime.fromisoformat(time) if time else None
        traits = search_hints_of({"fact": fact, "event_time": said_at}, None)
        source, position = place or (None, None)
        cues, language = traits["cues"], traits["language"]
        return cls(memory_id, fact, language, cues, source, position)


@dataclass(frozen=True)
class Question:
    """A question, and the memories that its answer rests on."""

    question_id: str
    text: str
    gold: Sequence[str]
    day: date

    @property
    def asked(self) -> RetrievalQuery:
        """The question, read."""
        return read(self.text, self.day)

    @property
    def words(self) -> list[str]:
        """Its words, the terms among them."""
        return list(dict.fromkeys(_WORD.findall(self.text.lower())))


@dataclass(frozen=True)
class Bank:
    """The memories of one scope, oldest first, and the questions about them."""

    name: str
    memories: Sequence[Memory]
    questions: Sequence[Question]

    @property
    def texts(self) -> list[str]:
        """All that has a vector."""
        return [one.fact for one in self.memories] + [one.text for one in self.questions]

    @property
    def words(self) -> Iterator[tuple[str, str]]:
        """All that has lexemes, with the configuration."""
        languages = {one.language for one in self.memories}
        yield from ((one.language, one.fact) for one in self.memories)
        for question in self.questions:
            for language in languages | {question.asked.language}:
                yield from ((language, word) for word in question.words)

    @cached_property
    def neighbours(self) -> list[tuple[int | None, ...]]:
        """For each memory, which are before and after it in its source."""
        places = {
            (one.source, one.position): n
            for n, one in enumerate(self.memories)
            if one.position is not None
        }
        return [
            (None, None)
            if one.position is None
            else tuple(places.get((one.source, one.position + step)) for step in (-1, 1))
            for one in self.memories
        ]


@dataclass(frozen=True)
class Scope:
    """What a question meets: every memory with its distance, its terms and its neighbours."""

    question: Question
    statistics: Statistics
    candidates: Sequence[RankingCandidate]

    @cached_property
    def by_vector(self) -> list[str]:
        """The ids, nearest first."""
        return _best(self.candidates, [-(one.distance or 0) for one in self.candidates])

    @cached_property
    def by_words(self) -> list[str]:
        """The ids of those with a term, best by BM25 first."""
        bm25 = self.bm25
        return _best(
            [one for one in self.candidates if one.matched],
            [bm25.score(one.matched, one.length) for one in self.candidates if one.matched],
        )

    @cached_property
    def by_nearby_words(self) -> list[str]:
        """The ids, best first by the sum of BM25 of each and of the memories beside it."""
        scores = [self._nearby_score(one) for one in self.candidates]
        found = [pair for pair in zip(self.candidates, scores, strict=True) if pair[1]]
        return _best([one for one, _ in found], [score for _, score in found])

    def _nearby_score(self, one: RankingCandidate) -> float:
        bm25 = self.bm25
        score = bm25.score(one.matched, one.length)
        score += bm25.score(one.before_matched or 0, one.before_length or 0)
        return score + bm25.score(one.after_matched or 0, one.after_length or 0)

    @cached_property
    def bm25(self) -> Bm25:
        """The scorer of the question."""
        told = self.statistics
        return Bm25(told.memories, told.holding, told.average_length)

    @cached_property
    def pool(self) -> list[RankingCandidate]:
        """What the service ranks: the nearest, those with the words, the newest to make up."""
        found = {*self.by_vector[:BY_DISTANCE], *self.by_nearby_words[:BY_WORDS]}
        for one in reversed(self.candidates):
            if len(found) >= POOL:
                break
            found.add(one.memory_id)
        return [one for one in self.candidates if one.memory_id in found]


def _best(candidates: Sequence[RankingCandidate], scores: Sequence[float]) -> list[str]:
    placed = sorted(zip(candidates, scores, strict=True), key=lambda one: -one[1])
    return [one.memory_id for one, _ in placed]


def scopes(bank: Bank, lexemes: Lexemes, vectors: Mapping[str, Vectors]) -> Iterator[Scope]:
    """Yield what each question of a bank meets."""
    terms = [lexemes[one.language, one.fact] for one in bank.memories]
    lengths = [len(one) for one in terms]
    matrix = np.stack([vectors[one.fact] for one in bank.memories])
    for question in bank.questions:
        words = _terms(question, lexemes)
        matched = [
            _matched(words, one.language, own, lexemes)
            for one, own in zip(bank.memories, terms, strict=True)
        ]
        holding = [sum(bits >> n & 1 for bits in matched) for n in range(len(words))]
        distances = np.linalg.norm(matrix - vectors[question.text], axis=1).tolist()
        yield Scope(
            question,
            Statistics(len(terms), holding, sum(lengths) / len(lengths)),
            _candidates(bank, distances, matched, lengths),
        )


def _terms(question: Question, lexemes: Lexemes) -> list[str]:
    """Return the words that the question's language does not leave out; one for each lexeme."""
    language = question.asked.language
    found = {lexemes[language, word]: word for word in reversed(question.words)}
    return [word for lexeme, word in found.items() if lexeme]


def _matched(words: Sequence[str], language: str, own: frozenset[str], lexemes: Lexemes) -> int:
    """Return the bits of the words that a memory has, as its own language reduces them."""
    found = (lexemes[language, word] for word in words)
    return sum(1 << n for n, lexeme in enumerate(found) if lexeme and lexeme <= own)


def _candidates(
    bank: Bank, distances: Sequence[float], matched: Sequence[int], lengths: Sequence[int]
) -> list[RankingCandidate]:
    beside = [
        (distances[n], matched[n], lengths[n], "is:question" in one.cues)
        for n, one in enumerate(bank.memories)
    ]
    return [
        RankingCandidate(
            **{name: getattr(one, name) for name in CANDIDATE_FIELDS if name not in COMPUTED},
            distance=distances[n],
            matched=matched[n],
            length=lengths[n],
        ).between(*(NO_NEIGHBOUR if at is None else beside[at] for at in bank.neighbours[n]))
        for n, one in enumerate(bank.memories)
    ]
