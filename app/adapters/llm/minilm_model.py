"""The loaded all-MiniLM-L6-v2: tokenizer, weights and session. Importing it is expensive.

The int8 weights belong to this package. `scripts/minilm_graph.py` makes them from the fp32 ones,
which a package of their own brings.

Source of the format of the weights, safetensors: 8 bytes of header length, a JSON header, the raw
tensors.
"""

import json
import mmap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from typing_extensions import override

from app.adapters.llm.onnx_encoder import OnnxEncoder, Tokens, open_session
from app.adapters.llm.ports import Vectors

FOLDER = Path(__file__).with_name("minilm").resolve()
"""The files that `scripts/minilm_graph.py` writes."""
INT8_GRAPH = FOLDER / "int8.onnx"
"""The network of int8 weights, which lie beside it in `int8.bin`."""
GRAPH = FOLDER / "fp32.onnx"
"""The network of fp32 weights, without them."""
TOKENIZER = "tokenizer.json"
WEIGHTS_FILE = "model.safetensors"
"""The weights, which the graph names by this name."""
WORDS = "embeddings.word_embeddings.weight"
HIDDEN = 384
MAX_TOKENS = 256
"""Source: the weights' sentence_bert_config.json. Overrides the 128 of tokenizer.json."""
_LET_GO: int | None = getattr(mmap, "MADV_DONTNEED", None)
"""Absent on Windows."""


class Int8Model(OnnxEncoder):
    """The model with int8 weights; its network pools and normalises by itself."""

    def __init__(self) -> None:
        super().__init__(Tokenizer.from_file(str(FOLDER / TOKENIZER)), MAX_TOKENS, HIDDEN)
        self._session = open_session(INT8_GRAPH, FOLDER)

    @override
    def _run(self, ids: Tokens, mask: Tokens) -> Vectors:
        vectors: Vectors = self._session.run(["vectors"], {"ids": ids, "mask": mask})[0]
        return vectors


class Fp32Model(OnnxEncoder):
    """The model with the fp32 weights of a folder; pools and normalises like the other."""

    def __init__(self, folder: Path) -> None:
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        super().__init__(tokenizer, MAX_TOKENS, HIDDEN)
        # The session looks for the weights beside the target of a link.
        weights = (folder / WEIGHTS_FILE).resolve()
        self._words = Rows(weights, find_weights(weights)[WORDS])
        self._session = open_session(GRAPH.read_bytes(), weights.parent)

    @override
    def _run(self, ids: Tokens, mask: Tokens) -> Vectors:
        vectors: Vectors = self._session.run(
            ["vectors"], {"words": self._words.at(ids), "mask": mask}
        )[0]
        return vectors


class Weight(NamedTuple):
    """The position of a float tensor in its file: its shape, the bytes before it, and its bytes."""

    shape: Sequence[int]
    offset: int
    length: int


def find_weights(path: Path) -> Mapping[str, Weight]:
    """Return the float tensors of a file by name."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    weights = {}
    for name, entry in header.items():
        if entry.get("dtype") == "F32":
            begin, end = entry["data_offsets"]
            weights[name] = Weight(entry["shape"], 8 + length + begin, end - begin)
    return weights


class Rows:
    """The rows of a matrix in a file, which stay in the system's cache of files. Thread-safe.

    A table of 47 MB of which each text reads a dozen rows would soon be in the memory of every
    process, so what has been read is let go at once; that costs 0.08 ms a text, a fiftieth of its
    vector.
    """

    def __init__(self, path: Path, place: Weight) -> None:
        with path.open("rb") as file:
            self._file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        count = place.length // np.dtype(np.float32).itemsize
        values = np.frombuffer(self._file, "<f4", count, place.offset)
        self.matrix = values.reshape(tuple(place.shape))

    def at(self, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return a copy of the rows at these positions."""
        # `take` releases the interpreter's lock: the rows may have to come from the disk.
        rows = np.take(self.matrix, positions, axis=0)
        if _LET_GO is not None:
            self._file.madvise(_LET_GO)
        return rows
