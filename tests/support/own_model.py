"""Folders with a model of an operator's own: all-MiniLM-L6-v2 with its weights as published."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from app.adapters.llm.onnx_encoder import MAX_TOKENS
from scripts.minilm_graph import GraphBuilder, weights_folder

Array = NDArray[np.float64]

_erf = np.vectorize(math.erf)


def bundled() -> ModelProto:
    """The graph of the model, which pools by itself."""
    return GraphBuilder(weights_folder()).build()


def exported() -> ModelProto:
    """The same as exporters write it: their names, token types, and the states of all tokens."""
    model = bundled()
    graph = model.graph
    names = {"ids": "input_ids", "mask": "attention_mask"}
    for node in graph.node:
        node.input[:] = [names.get(one, one) for one in node.input]
    for one in graph.input:
        one.name = names[one.name]
    shape: list[int | str] = ["batch", "sequence"]
    graph.input.append(helper.make_tensor_value_info("token_type_ids", TensorProto.INT64, shape))
    # Before the pooling: cut where the states get the form (batch, sequence, dimensions).
    states = next(node for node in reversed(graph.node) if node.op_type == "Reshape")
    del graph.node[list(graph.node).index(states) + 1 :]
    states.output[0] = "last_hidden_state"
    del graph.output[:]
    graph.output.append(
        helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, 384])
    )
    return model


def make_folder(path: Path, graph: ModelProto) -> Path:
    path.mkdir(exist_ok=True)
    onnx.save(graph, str(path / "model.onnx"))
    tokenizer = (weights_folder() / "tokenizer.json").read_bytes()
    (path / "tokenizer.json").write_bytes(tokenizer)
    return path


def expected_vectors(texts: Sequence[str]) -> Array:
    """Return the vectors of texts, written out in numpy."""
    tokenizer = Tokenizer.from_file(str(weights_folder() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    reference = _Reference(weights_folder())
    return np.array([reference.vector(tokenizer.encode(text).ids) for text in texts])


class _Reference:
    """The model written out in numpy, one text at a time: which graphs must agree with."""

    def __init__(self, folder: Path) -> None:
        loaded = load_file(folder / "model.safetensors")
        self._weights = {name: value.astype(np.float64) for name, value in loaded.items()}

    def vector(self, ids: Sequence[int]) -> Array:
        words = self._weights["embeddings.word_embeddings.weight"][list(ids)]
        places = self._weights["embeddings.position_embeddings.weight"][: len(ids)]
        kind = self._weights["embeddings.token_type_embeddings.weight"][0]
        states = self._norm("embeddings.LayerNorm", words + places + kind)
        for number in range(6):
            states = self._layer(f"encoder.layer.{number}", states)
        mean: Array = states.mean(axis=0)
        return mean / float(np.linalg.norm(mean))

    def _layer(self, name: str, states: Array) -> Array:
        query, key, value = (
            self._linear(f"{name}.attention.self.{part}", states)
            for part in ("query", "key", "value")
        )
        heads = []
        for head in range(12):
            part = slice(32 * head, 32 * head + 32)
            scores = query[:, part] @ key[:, part].T / math.sqrt(32)
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            heads.append(shares / shares.sum(axis=1, keepdims=True) @ value[:, part])
        mixed = self._linear(f"{name}.attention.output.dense", np.concatenate(heads, axis=1))
        states = self._norm(f"{name}.attention.output.LayerNorm", states + mixed)
        inner = self._linear(f"{name}.intermediate.dense", states)
        inner = inner * (1 + _erf(inner / math.sqrt(2))) / 2
        outer = self._linear(f"{name}.output.dense", inner)
        return self._norm(f"{name}.output.LayerNorm", states + outer)

    def _linear(self, name: str, states: Array) -> Array:
        product: Array = states @ self._weights[f"{name}.weight"].T
        return product + self._weights[f"{name}.bias"]

    def _norm(self, name: str, states: Array) -> Array:
        centred = states - states.mean(axis=1, keepdims=True)
        scaled: Array = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
        return scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
