"""The fallback embedder: feature hashing of words and parts of words. Lexical only.

model_id `hash-384/1`: the dimensions, then the version of the features below. Change the version
whenever the same text could get another vector.

Texts are near if they share words or parts of words ("hike", "hiking"); paraphrases are not found.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from unicodedata import combining, normalize

import numpy as np
from typing_extensions import override

from app.adapters.llm.embedders import ThreadedEmbedder
from app.adapters.llm.ports import Vectors

_DIMENSIONS = 384
_WORD = re.compile(r"\w+")
_PART_CHARS = (3, 4)
_PART_WEIGHT = 0.35
"""Weight of a part against its whole word; a word of seven letters then equals its parts."""


class HashEmbedder(ThreadedEmbedder):
    """An embedder that knows words but no meaning, and has no dependencies."""

    model_id = f"hash-{_DIMENSIONS}/1"
    dimensions = _DIMENSIONS
    lexical_only = True

    @override
    def _compute(self, texts: Sequence[str]) -> Vectors:
        return np.stack([_vector(text) for text in texts])


def _vector(text: str) -> Vectors:
    vector = np.zeros(_DIMENSIONS, np.float64)
    for feature, count in Counter(_features(text)).items():
        weight = 1.0 if feature[0] == "w" else _PART_WEIGHT
        number = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest(), "little")
        sign = 1 if number >> 63 else -1
        # The square root, so that a frequent word does not outweigh the rest.
        vector[number % _DIMENSIONS] += sign * weight * count**0.5
    if not vector.any():
        vector[0] = 1
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def _features(text: str) -> Iterator[str]:
    """Yield the words, then the parts of each, marked so that the two never collide."""
    folded = _folded(text)
    # A text of symbols alone (an emoji) has no words, yet differs from other such texts.
    for word in _WORD.findall(folded) or folded.split():
        yield "w" + word
        edged = f"<{word}>"
        for size in _PART_CHARS:
            yield from ("p" + edged[at : at + size] for at in range(len(edged) - size + 1))


def _folded(text: str) -> str:
    return "".join(char for char in normalize("NFKD", text.casefold()) if not combining(char))
