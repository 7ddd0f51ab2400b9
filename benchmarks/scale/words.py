"""What the memories of the benchmark say, and where their vectors lie. The same in every run."""

from collections.abc import Iterator, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from tests.support.scripted_models import ScriptedEmbedder

DIMENSIONS = 384
_SUBSPACE = 24
_NOISE = 0.1
_VOCABULARY = 20_000
_ZIPF = 1.05
_MIN_WORDS, _MAX_WORDS = 12, 15
QUERY_WORDS = 6
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]

Floats = NDArray[np.float32]


def vocabulary() -> list[str]:
    """Return words that no stemmer and no list of stop words knows, the commonest first."""
    count = len(_SYLLABLES)
    return [
        _SYLLABLES[n % count] + _SYLLABLES[n // count % count] + _SYLLABLES[n // count**2 % count]
        for n in range(_VOCABULARY)
    ]


def facts(count: int, seed: int) -> list[str]:
    """Return facts of 12 to 15 words; how common a word is falls with its rank (Zipf)."""
    lengths = np.random.default_rng(seed).integers(_MIN_WORDS, _MAX_WORDS + 1, count)
    return list(_said(lengths, seed))


def queries(count: int, seed: int) -> list[str]:
    """Return queries of six words, as common as those of the facts."""
    return list(_said([QUERY_WORDS] * count, seed))


def _said(lengths: Sequence[int] | NDArray[np.int64], seed: int) -> Iterator[str]:
    words = np.array(vocabulary())
    weights = 1 / np.arange(1, len(words) + 1) ** _ZIPF
    drawn = np.random.default_rng(seed).choice(
        words, size=int(np.sum(lengths)), p=weights / weights.sum()
    )
    at = 0
    for length in lengths:
        yield " ".join(drawn[at : at + length])
        at += int(length)


def placed(coordinates: Floats, noise: Floats) -> Floats:
    """Return unit vectors of a subspace of 24 dimensions, and a tenth of noise."""
    basis = np.random.default_rng(0).standard_normal((_SUBSPACE, DIMENSIONS)).astype(np.float32)
    within = _units(coordinates @ basis)
    return _units(within + _NOISE * _units(noise))


def vectors(count: int, seed: int) -> Floats:
    """Return as many vectors as those of facts."""
    rng = np.random.default_rng(seed)
    coordinates = rng.standard_normal((count, _SUBSPACE), dtype=np.float32)
    return placed(coordinates, rng.standard_normal((count, DIMENSIONS), dtype=np.float32))


def _units(rows: Floats) -> Floats:
    found: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return found


class SubspaceEmbedder(ScriptedEmbedder):
    """Gives every text a place like those of the facts, at no cost to speak of."""

    model_id = "scale/1"

    @override
    def _vector(self, text: str) -> Floats:
        seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
        found: Floats = vectors(1, seed)[0]
        return found
