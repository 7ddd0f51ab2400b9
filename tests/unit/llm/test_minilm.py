"""MiniLM computes what its weights say, loads late and once, and keeps to itself."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from app.adapters.llm.onnx_encoder import GRAPH, MAX_TOKENS
from app.adapters.llm.onnx_encoder import passes as passes_of
from app.adapters.llm.providers.embed_minilm import MiniLmEmbedder
from scripts.minilm_graph import Int8Builder, weights_folder
from tests.support.own_model import expected_vectors


@pytest.fixture(scope="module")
async def minilm() -> AsyncIterator[MiniLmEmbedder]:
    embedder = MiniLmEmbedder(1)
    yield embedder
    await embedder.close()


TEXTS = [
    "tea",
    "The user prefers green tea over coffee.",
    "She moved to Lisbon in 2019 to work as a nurse, and cycles to the hospital. " * 3,
    "",
    "多くの人が緑茶を飲む 🍵",
]


async def test_int8_weights_point_nearly_the_same_way(
    minilm: MiniLmEmbedder,
) -> None:
    vectors = await minilm.embed(TEXTS)

    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.min(np.sum(vectors * expected_vectors(TEXTS), axis=1)) > 0.98


def test_the_graph_is_made_of_the_published_weights() -> None:
    made = Int8Builder(weights_folder()).build()
    committed = onnx.load(str(GRAPH))

    assert list(committed.graph.node) == list(made.graph.node)
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in made.graph.initializer}
    assert {tensor.name for tensor in committed.graph.initializer} == values.keys()
    for tensor in committed.graph.initializer:
        np.testing.assert_array_equal(numpy_helper.to_array(tensor), values[tensor.name])


def test_the_int8_weights_are_those_of_the_stored_vectors() -> None:
    """Other weights need another model id, or vectors that cannot be compared get mixed."""
    digest = sha256(GRAPH.read_bytes() + GRAPH.with_suffix(".bin").read_bytes())

    assert (MiniLmEmbedder.model_id, digest.hexdigest()) == (
        "all-MiniLM-L6-v2/int8",
        "d3ccd4f0eda2a87f963fa73394a27fdabe9f88b7d3420bb85e6940348ace0c33",
    )


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
