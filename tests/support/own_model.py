"""Folders with a model of an operator's own, made from the bundled weights."""

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

from app.adapters.llm.providers.embed_minilm import weights_folder
from scripts.minilm_graph import GraphBuilder


def bundled() -> ModelProto:
    """The graph of the bundled model with its weights inside; it pools by itself."""
    path = weights_folder() / "model.safetensors"
    graph = GraphBuilder(path).build()
    weights = load_file(path)
    for one in graph.graph.initializer:
        if one.data_location == TensorProto.EXTERNAL:
            one.CopyFrom(numpy_helper.from_array(weights[one.name], one.name))
    _look_words_up(graph.graph, weights["embeddings.word_embeddings.weight"])
    return graph


def _look_words_up(graph: GraphProto, words: NDArray[np.float32]) -> None:
    """Have a graph look up the rows of words, which our own takes as they are."""
    graph.initializer.append(numpy_helper.from_array(words, "table"))
    graph.node.insert(0, helper.make_node("Gather", ["table", "ids"], ["words"]))
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "sequence"])
    graph.input[0].CopyFrom(ids)


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
