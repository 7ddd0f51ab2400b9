"""Small learned judges of English sentences, on the vectors of the bundled embedder.

One judges whether a sentence states a lasting fact of its speaker or asks to forget one, the other
how a sentence relates to a stored fact. Both are linear over the vector, a few features of the
surface, and hashed words. `scripts/train_heads.py` trains them; `docs/quality.md` has figures.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

MODEL_ID = "all-MiniLM-L6-v2/int8"
"""The embedder whose vectors the judges were trained on."""
NEAR = 0.25
"""Least cosine of a sentence and a fact that are compared."""
WEIGHTS = Path(__file__).with_name("heads.npz")

Array = NDArray[np.float32]

_WORDS = re.compile(r"[\w']+|[?!]")
_NAMES = re.compile(r"(?<=\s)[A-Z]\w+")
_NUMBERS = re.compile(r"\d+")
_SENTENCE_SLOTS, _PAIR_SLOTS = 4_096, 2_048
_OF_VECTOR, _OF_WORDS = 5.0, 4.0
"""Scales that make vectors and words weigh about as much as the other features."""
_SURFACE = tuple(
    map(
        re.compile,
        (
            r"\?",
            r"\?\W{0,20}\Z",
            r"(?i)^(?:i|my|we|our|i'm|i've|i'll|im)\b",
            r"(?i)\b(?:i|my|we|our|me|us|i'm|i've)\b",
            r"(?i)\b(?:you|your)\b",
            r"\d",
            r'["\u201c\u201d\u00ab]',
            r":",
            r"!",
            r"^[a-z]",
            r"\.\.\.|\u2026",
        ),
    )
)


class SentenceOdds(NamedTuple):
    """Probabilities that a sentence states a lasting fact, or asks to forget one."""

    keep: float
    forget: float


class PairOdds(NamedTuple):
    """Probabilities that a sentence replaces a stored fact, or ends it."""

    corrects: float
    ends: float

    @property
    def over(self) -> float:
        """Probability that the stored fact does not hold any more."""
        return self.corrects + self.ends


class Heads(NamedTuple):
    """The weights: one column for each class, one row for each feature and a constant."""

    sentence: Array
    pair: Array

    @classmethod
    @cache
    def load(cls) -> Self:
        """Return the trained weights, which are read once."""
        with np.load(WEIGHTS) as stored:
            return cls(stored["sentence"].astype(np.float32), stored["pair"].astype(np.float32))

    def judge(
        self, sentences: Sequence[tuple[str, str]], vectors: Array, befores: Array
    ) -> list[SentenceOdds]:
        """Judge sentences, each with the message before it ("" if there is none).

        `vectors` and `befores` have one row of 384 values for each; the row of "" is ignored.
        """
        rows = [
            sentence_features(text, before, vector, of_before)
            for (text, before), vector, of_before in zip(sentences, vectors, befores, strict=True)
        ]
        return [
            SentenceOdds(float(odds[0]), float(odds[1])) for odds in odds_of(rows, self.sentence)
        ]

    def relate(
        self, memories: Sequence[str], said: str, vector: Array, cosines: Sequence[float]
    ) -> list[PairOdds]:
        """Relate a sentence to stored facts; `cosines` are their similarities to it."""
        rows = pair_features(memories, said, vector, cosines)
        return [PairOdds(float(odds[1]), float(odds[2])) for odds in odds_of(rows, self.pair)]


SENTENCE_CLASSES = ("keep", "forget", "none")
PAIR_CLASSES = ("same", "corrects", "ends", "adds", "unrelated")


def sentence_features(text: str, before: str, vector: Array, of_before: Array) -> Array:
    """Return the features of a sentence, as a row."""
    surface = [*(bool(one.search(text)) for one in _SURFACE), len(text.split()) / 20, bool(before)]
    return np.concatenate(
        [
            _OF_VECTOR * vector,
            _OF_VECTOR * 0.6 * bool(before) * of_before,
            np.asarray(surface, np.float32),
            _hashed(text, _SENTENCE_SLOTS),
            np.ones(1, np.float32),
        ]
    )


def pair_features(
    memories: Sequence[str], said: str, vector: Array, cosines: Sequence[float]
) -> list[Array]:
    """Return the features of stored facts beside a later sentence, a row for each fact."""
    new, hashed, scaled = set(_words(said)), _hashed(said, _PAIR_SLOTS), _OF_VECTOR * vector
    leads = _leads(cosines)
    told = [set(pattern.findall(said)) for pattern in (_NUMBERS, _NAMES)]
    rows = []
    for memory, cosine, lead in zip(memories, cosines, leads, strict=True):
        old = set(_words(memory))
        shared = len(old & new)
        overlaps = [3 * cosine, shared / max(1, len(old)), shared / max(1, len(new)), len(new) / 20]
        for pattern, later in zip((_NUMBERS, _NAMES), told, strict=True):
            known = set(pattern.findall(memory))
            overlaps += [len(known & later), len(later - known), len(known - later)]
        values = np.asarray([*overlaps, len(old) / 20, 5 * lead, lead >= 0], np.float32)
        rows.append(np.concatenate([scaled, values, hashed, np.ones(1, np.float32)]))
    return rows


def _leads(cosines: Sequence[float]) -> list[float]:
    """Return by how much each is greater than the greatest of the others, from -.3 to .3.

    A sentence that replaces a fact is mostly nearest to that one.
    """
    if len(cosines) < 2:
        return [0.0] * len(cosines)
    second, first = sorted(cosines)[-2:]
    return [max(-0.3, min(0.3, one - (second if one == first else first))) for one in cosines]


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.lower())


def _hashed(text: str, slots: int) -> Array:
    words = ["^", *_words(text), "$"]
    counts = np.zeros(slots, np.float32)
    for one in [*words, *map(" ".join, pairwise(words))]:
        counts[crc32(one.encode("utf-8", "replace")) % slots] += 1
    return _OF_WORDS * counts / np.linalg.norm(counts)


def odds_of(rows: Sequence[Array], weights: Array) -> Array:
    """Return the probabilities of the classes, a row for each row of features."""
    if not rows:
        return np.empty((0, weights.shape[1]), np.float32)
    scores = np.stack(rows) @ weights
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    found: Array = powers / powers.sum(axis=1, keepdims=True)
    return found
