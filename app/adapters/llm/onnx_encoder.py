"""Texts to unit vectors, by a tokenizer and a network. Importing this module is expensive."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from app.adapters.llm.ports import Vectors

_PASS_TOKENS = 256
"""Tokens, padding included, per pass: more is slower, as the states leave the processor's cache."""

Tokens = NDArray[np.int64]
"""A row for each text; shorter ones are padded."""


class OnnxEncoder(ABC):
    """Computes in the calling thread alone. Safe to call from several threads.

    Args:
        tokenizer: the model's own.
        max_tokens: what a text is cut to.
        dimensions: the length of a vector.
    """

    def __init__(self, tokenizer: Tokenizer, max_tokens: int, dimensions: int = 0) -> None:
        self.dimensions = dimensions
        self._pad_id: int = (tokenizer.padding or {}).get("pad_id", 0)
        self._tokenizer = tokenizer
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.no_padding()

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, in order; texts of a similar length share a pass."""
        # One by one: the tokenizer's own batching would start a thread per processor. Some have no
        # token at all for a text without characters.
        tokens = [self._tokenizer.encode(text).ids or [self._pad_id] for text in texts]
        found = np.empty((len(tokens), self.dimensions), np.float32)
        for rows in passes([len(ids) for ids in tokens]):
            found[rows] = self._padded([tokens[row] for row in rows])
        return found

    def _padded(self, tokens: Sequence[Sequence[int]]) -> Vectors:
        ids = np.full((len(tokens), max(map(len, tokens))), self._pad_id, np.int64)
        mask = np.zeros_like(ids)
        for row, values in enumerate(tokens):
            ids[row, : len(values)] = values
            mask[row, : len(values)] = 1
        return self._run(ids, mask)

    @abstractmethod
    def _run(self, ids: Tokens, mask: Tokens) -> Vectors:
        """Return one unit vector per row; `mask` is 1 where a token is none of the padding."""


def passes(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Group the positions of texts by similar length, each group within the tokens of a pass."""
    group: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        # Rows come by rising length, so this one says how far all of its group are padded.
        if group and (len(group) + 1) * lengths[row] > _PASS_TOKENS:
            yield group
            group = []
        group.append(row)
    if group:
        yield group
