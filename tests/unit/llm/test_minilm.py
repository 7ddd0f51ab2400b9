"""MiniLM computes what its weights say, loads late and once, and keeps to itself."""

import asyncio
import math
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from app.adapters.llm.minilm_model import GRAPH, INT8_GRAPH, MAX_TOKENS, Fp32Model
from app.adapters.llm.onnx_encoder import passes as passes_of
from app.adapters.llm.providers import embed_minilm
from app.adapters.llm.providers.embed_minilm import (
    MiniLmEmbedder,
    MiniLmFp32Embedder,
    weights_folder,
)
from scripts.minilm_graph import GraphBuilder, Int8Builder

Array = NDArray[np.float64]

_erf = np.vectorize(math.erf)


class Reference:
    """The model written out in numpy, one text at a time: what the graph must agree with."""

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


@pytest.fixture(scope="module")
async def minilm() -> AsyncIterator[MiniLmEmbedder]:
    embedder = MiniLmEmbedder(1)
    yield embedder
    await embedder.close()


@pytest.fixture(scope="module")
async def fp32() -> AsyncIterator[MiniLmEmbedder]:
    embedder = MiniLmFp32Embedder(1)
    yield embedder
    await embedder.close()


TEXTS = [
    "tea",
    "The user prefers green tea over coffee.",
    "She moved to Lisbon in 2019 to work as a nurse, and cycles to the hospital. " * 3,
    "",
    "多くの人が緑茶を飲む 🍵",
]


@pytest.fixture(scope="module")
def expected() -> Sequence[Array]:
    tokenizer = Tokenizer.from_file(str(weights_folder() / "tokenizer.json"))
    tokenizer.no_padding()
    reference = Reference(weights_folder())
    return [reference.vector(tokenizer.encode(text).ids) for text in TEXTS]


async def test_agrees_with_the_model_written_out_in_numpy(
    fp32: MiniLmEmbedder, expected: Sequence[Array]
) -> None:
    np.testing.assert_allclose(await fp32.embed(TEXTS), expected, atol=1e-5)


async def test_int8_weights_point_nearly_the_same_way(
    minilm: MiniLmEmbedder, expected: Sequence[Array]
) -> None:
    vectors = await minilm.embed(TEXTS)

    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.min(np.sum(vectors * np.array(expected), axis=1)) > 0.98


def test_the_int8_graph_is_made_of_the_fp32_weights() -> None:
    made = Int8Builder(weights_folder() / "model.safetensors").build()
    committed = onnx.load(str(INT8_GRAPH))

    assert list(committed.graph.node) == list(made.graph.node)
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in made.graph.initializer}
    assert {tensor.name for tensor in committed.graph.initializer} == values.keys()
    for tensor in committed.graph.initializer:
        np.testing.assert_array_equal(numpy_helper.to_array(tensor), values[tensor.name])


def test_the_int8_weights_are_those_of_the_stored_vectors() -> None:
    """Other weights need another model id, or vectors that cannot be compared get mixed."""
    digest = sha256(INT8_GRAPH.read_bytes() + INT8_GRAPH.with_suffix(".bin").read_bytes())

    assert (MiniLmEmbedder.model_id, digest.hexdigest()) == (
        "all-MiniLM-L6-v2/int8",
        "5bf7f367fab9c43426395025570ee6b92bb51503e0ecdb5cabc928b7d47f8443",
    )


def test_the_graph_names_its_weights_by_their_place_in_the_file() -> None:
    """A session copies what it is handed over as values, and maps what lies in a file."""
    path = weights_folder() / "model.safetensors"
    graph = GraphBuilder(path).build()
    assert graph.SerializeToString() == GRAPH.read_bytes()  # what the service loads
    assert len(GRAPH.read_bytes()) < 50_000
    weights = load_file(path)
    content = path.read_bytes()
    outside = [one for one in graph.graph.initializer if one.data_location == one.EXTERNAL]
    assert {one.name for one in outside} <= weights.keys()
    for one in outside:
        place = {entry.key: entry.value for entry in one.external_data}
        assert place["location"] == path.name
        begin = int(place["offset"])
        found = np.frombuffer(content[begin : begin + int(place["length"])], "<f4")
        assert list(one.dims) == list(weights[one.name].shape)
        np.testing.assert_array_equal(found, weights[one.name].ravel())
    # The service reads the rows of words by itself.
    left_out = {"embeddings.word_embeddings.weight"}
    assert not left_out & {one.name for one in outside}
    assert sum(math.prod(one.dims) for one in outside) > 0.98 * sum(
        value.size for name, value in weights.items() if name not in left_out
    )


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
async def test_weights_that_are_linked_to_are_loaded(tmp_path: Path, fp32: MiniLmEmbedder) -> None:
    """Some installers link packages to a store."""
    for file in weights_folder().iterdir():
        (tmp_path / file.name).symlink_to(file)
    linked = Fp32Model(tmp_path)
    np.testing.assert_array_equal(linked.vectors(["tea"]), await fp32.embed(["tea"]))


@pytest.mark.parametrize(
    ("text", "paraphrase", "unrelated"),
    [
        ("I love tea", "My favourite drink is brewed from leaves", "I love trains"),
        ("She is a physician", "Her job is being a doctor", "She is a musician"),
        ("My car broke down", "The vehicle stopped working", "My card came in the post"),
    ],
)
async def test_a_paraphrase_is_nearer_than_shared_words(
    minilm: MiniLmEmbedder, text: str, paraphrase: str, unrelated: str
) -> None:
    asked, near, far = await minilm.embed([text, paraphrase, unrelated])

    assert np.linalg.norm(asked - near) < np.linalg.norm(asked - far)


async def test_a_text_counts_up_to_the_longest_the_model_takes(minilm: MiniLmEmbedder) -> None:
    words = MAX_TOKENS - 2
    full, longer, shorter = await minilm.embed(
        ["tea " * words, "tea " * words + "moon " * 50, "tea " * (words - 1) + "moon"]
    )

    np.testing.assert_allclose(full, longer, atol=1e-6)
    assert np.linalg.norm(full - shorter) > 1e-4


async def test_it_is_not_ready_before_it_is_loaded_and_loads_once() -> None:
    embedder = MiniLmEmbedder(2)
    before = embedder.ready

    await asyncio.gather(embedder.warm(), embedder.warm(), embedder.embed(["first"]))

    assert (before, embedder.ready) == (False, True)
    await embedder.close()


@pytest.mark.parametrize(
    ("lengths", "passes"),
    [
        ([], []),
        ([256, 2, 256], [[1], [0], [2]]),
        ([64] * 5, [[0, 1, 2, 3], [4]]),
        ([100, 10, 90], [[1, 2], [0]]),
    ],
)
def test_passes_hold_texts_of_similar_length(lengths: list[int], passes: list[list[int]]) -> None:
    assert list(passes_of(lengths)) == passes


async def test_loading_without_the_weights_names_their_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embed_minilm, "WEIGHTS", "weights_elsewhere")
    embedder = MiniLmFp32Embedder(1)

    with pytest.raises(RuntimeError, match="weights_elsewhere"):
        await embedder.warm()
    await embedder.close()


ALONE = """
import asyncio, os, sys
from app.adapters.llm.factory import open_embedder
from app.settings.settings import Settings

embedder = open_embedder(Settings(embedder="minilm", embedder_threads=2))
late = {"onnxruntime", "tokenizers", "sentence_transformers"}
print("imported early:", sorted(late & set(sys.modules)))

async def main():
    before = len(os.listdir("/proc/self/task"))
    await embedder.warm()
    await embedder.embed([f"text {number}" for number in range(100)])
    print("threads:", len(os.listdir("/proc/self/task")) - before)
    await embedder.close()

asyncio.run(main())
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads in /proc")
def test_it_loads_late_and_neither_prints_nor_writes_nor_starts_other_threads(
    tmp_path: Path,
) -> None:
    # In an environment of its own, as onnxruntime's reporting leaves out the runs it takes for CI.
    ran = subprocess.run(
        [sys.executable, "-c", ALONE],
        env={"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.stderr == ""
    assert ran.stdout.splitlines() == ["imported early: []", "threads: 2"]
    assert list(tmp_path.iterdir()) == []
