"""Encoder of texts to unit vectors by an ONNX network. Importing this module is expensive."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from app.adapters.llm.ports import Vectors

_PASS_TOKENS = 256
"""Tokens per pass, padding included; more is slower, as the states outgrow the CPU cache."""

Tokens = NDArray[np.int64]
"""One row per text; shorter ones are padded."""


class OnnxEncoder(ABC):
    """An encoder that computes in the calling thread. Thread-safe.

    Args:
        tokenizer: the model's own.
        max_tokens: the length to which a text is cut.
        dimensions: the length of a vector.
    """

    def __init__(self, tokenizer: Tokenizer, max_tokens: int, dimensions: int = 0) -> None:
        self.dimensions = dimensions
        self._pad_id: int = (tokenizer.padding or {}).get("pad_id", 0)
        self._tokenizer = tokenizer
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.no_padding()

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, in order; texts of similar length share a pass."""
        # One by one: the tokenizer's own batching would start a thread per processor. Some
        # tokenizers return no token for an empty text.
        tokens = [self._tokenizer.encode(text).ids or [self._pad_id] for text in texts]
        vectors = np.empty((len(tokens), self.dimensions), np.float32)
        for rows in passes([len(ids) for ids in tokens]):
            vectors[rows] = self._padded([tokens[row] for row in rows])
        return vectors

    def _padded(self, tokens: Sequence[Sequence[int]]) -> Vectors:
        ids = np.full((len(tokens), max(map(len, tokens))), self._pad_id, np.int64)
        mask = np.zeros_like(ids)
        for row, values in enumerate(tokens):
            ids[row, : len(values)] = values
            mask[row, : len(values)] = 1
        return self._run(ids, mask)

    @abstractmethod
    def _run(self, ids: Tokens, mask: Tokens) -> Vectors:
        """Return one unit vector per row; `mask` is 1 except at padding."""


def passes(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Group the positions of texts by similar length, each group within the tokens of a pass."""
    group: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        # Rows come in order of length, so all rows of a group are padded to the last one's length.
        if group and (len(group) + 1) * lengths[row] > _PASS_TOKENS:
            yield group
            group = []
        group.append(row)
    if group:
        yield group
