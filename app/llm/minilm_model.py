"""all-MiniLM-L6-v2, loaded: tokenizer and inference session. Importing this module is expensive."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from app.llm.minilm_graph import HIDDEN, GraphBuilder
from app.llm.onnx_session import open_session
from app.llm.ports import Vectors

MAX_TOKENS = 256
"""Source: the weights' sentence_bert_config.json. Overrules the 128 of tokenizer.json."""
_PASS_TOKENS = 256
"""Tokens, padding included, per pass: more is slower, as the states leave the processor's cache."""


class MiniLmModel:
    """Texts to unit vectors, in the calling thread alone. Safe to call from several threads."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        # Where it is a link, the session looks for it where it leads.
        weights = (folder / "model.safetensors").resolve()
        graph = GraphBuilder(weights).build()
        self._session = open_session(graph.SerializeToString(), weights.parent)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, in order; texts of a similar length share a pass."""
        # One by one: the tokenizer's own batching would start a thread per processor.
        tokens = [self._tokenizer.encode(text).ids for text in texts]
        found = np.empty((len(tokens), HIDDEN), np.float32)
        for rows in _passes([len(ids) for ids in tokens]):
            found[rows] = self._run([tokens[row] for row in rows])
        return found

    def _run(self, tokens: Sequence[Sequence[int]]) -> Vectors:
        ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
        mask = np.zeros_like(ids)
        for row, values in enumerate(tokens):
            ids[row, : len(values)] = values
            mask[row, : len(values)] = 1
        vectors: NDArray[np.float32] = self._session.run(["vectors"], {"ids": ids, "mask": mask})[0]
        return vectors


def _passes(lengths: Sequence[int]) -> Iterator[list[int]]:
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
