"""Encoder of texts to unit vectors by an ONNX network. Importing this module is expensive.

The only module that imports onnxruntime. Since 1.29 its official builds send telemetry over the
network from the moment of their import, unless the environment forbids it by then.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from typing_extensions import override

from app.adapters.llm.ports import Vectors

# A message to the library, not configuration of this service: putenv, as nothing is read.
os.putenv("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime as ort  # type: ignore[import-untyped]  # ships no types

# Errors are raised anyway.
_FATAL = 4
_FOLDER = "session.model_external_initializers_file_folder_path"
_EXACT_INT8 = "session.x64quantprecision"
"""Without integer instructions (VNNI), sums of int8 products would be cut off at 16 bits, so that
vectors depended on the processor. The exact way costs a tenth more."""
ort.set_default_logger_severity(_FATAL)
# For builds that ask the system, not the environment (Windows).
ort.disable_telemetry_events()

_PASS_TOKENS = 256
"""Tokens per pass, padding included; more is slower, as the states outgrow the CPU cache."""

_MINILM = Path(__file__).with_name("minilm").resolve()
"""all-MiniLM-L6-v2, which `scripts/minilm_graph.py` makes from the published weights."""
GRAPH = _MINILM / "int8.onnx"
"""The network; its weights lie beside it in `int8.bin`."""
TOKENIZER = _MINILM / "tokenizer.json"
HIDDEN = 384
MAX_TOKENS = 256
"""Source: the weights' sentence_bert_config.json. Overrides the 128 of tokenizer.json."""

Tokens = NDArray[np.int64]
"""One row per text; shorter ones are padded."""


class OnnxEncoder(ABC):
    """An encoder of texts, cut to `max_tokens`; computes in the calling thread. Thread-safe."""

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


def open_session(graph: bytes | Path, folder: Path) -> ort.InferenceSession:
    """Open a session that computes in the calling thread, with mapped weights from `folder`."""
    options = ort.SessionOptions()
    options.log_severity_level = _FATAL
    # The embedder's threads are the parallelism; more threads would compete for the cores.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Both only ever grow if every batch has another shape.
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    options.add_session_config_entry(_FOLDER, str(folder))
    options.add_session_config_entry(_EXACT_INT8, "1")
    source = str(graph) if isinstance(graph, Path) else graph
    return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])


class MiniLm(OnnxEncoder):
    """all-MiniLM-L6-v2 with int8 weights; its network pools and normalises by itself."""

    def __init__(self) -> None:
        super().__init__(Tokenizer.from_file(str(TOKENIZER)), MAX_TOKENS, HIDDEN)
        self._session = open_session(GRAPH, _MINILM)

    @override
    def _run(self, ids: Tokens, mask: Tokens) -> Vectors:
        vectors: Vectors = self._session.run(["vectors"], {"ids": ids, "mask": mask})[0]
        return vectors
