"""An operator's own model: the bundled one as a folder gives the same vectors; wrong files."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from app.adapters.llm.embedders import ManagedEmbedder
from app.adapters.llm.factory import open_embedder
from app.adapters.llm.names import ModelSetupError
from app.settings.settings import Settings
from tests.support.own_model import bundled, expected_vectors, exported, make_folder

TEXTS = [
    "tea",
    "The user prefers green tea over coffee.",
    "She moved to Lisbon in 2019 to work as a nurse, and cycles to the hospital. " * 30,
    "",
    "多くの人が緑茶を飲む 🍵",
    *(f"Text number {number} of many." for number in range(40)),
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    parent = tmp_path_factory.mktemp("models")
    return {
        "pools by itself": make_folder(parent / "bundled", bundled()),
        "states of all tokens": make_folder(parent / "exported", exported()),
    }


def settings(folder: Path | None, **given: object) -> Settings:
    values = {"embedder": "onnx", "embedder_folder": folder, "embedder_threads": 2}
    return Settings.model_validate(values | {"embedding_cache_entries": 0} | given)


@pytest.fixture(scope="module")
def reference() -> NDArray[np.float64]:
    return expected_vectors(TEXTS)


@pytest.mark.parametrize("kind", ["pools by itself", "states of all tokens"])
async def test_the_bundled_weights_as_a_folder_give_the_same_vectors(
    folders: dict[str, Path], reference: NDArray[np.float64], kind: str
) -> None:
    embedder = open_embedder(settings(folders[kind]))
    assert (embedder.dimensions, embedder.ready, embedder.is_local) == (384, True, True)

    found = await embedder.embed(TEXTS)

    assert found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert (found * reference).sum(axis=1).min() >= 0.9999
    await embedder.close()


async def test_pooling_by_the_first_token_is_another_model(
    folders: dict[str, Path], reference: NDArray[np.float64]
) -> None:
    embedder = open_embedder(settings(folders["states of all tokens"], embedder_pooling="cls"))

    found = await embedder.embed(TEXTS)

    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert (found * reference).sum(axis=1).max() < 0.9
    await embedder.close()


async def test_a_text_is_cut_to_the_tokens_of_the_setting(folders: dict[str, Path]) -> None:
    embedder = open_embedder(settings(folders["pools by itself"], embedder_max_tokens=12))

    whole, longer, other = await embedder.embed(["tea " * 10, "tea " * 10 + "moon", "tea moon"])

    np.testing.assert_allclose(whole, longer, atol=1e-6)
    assert np.linalg.norm(whole - other) > 0.1
    await embedder.close()


def _id(folder: Path, **given: object) -> str:
    return open_embedder(settings(folder, **given)).model_id


def test_the_id_is_a_digest_of_what_makes_the_vectors(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = folders["pools by itself"]
    copy = make_folder(tmp_path / "copy", bundled())
    first = _id(folder)
    assert first.startswith("onnx:")
    assert first == _id(copy)
    # It bears on no stored vector.
    assert first == _id(copy, embedder_query_prefix="query: ", embedder_languages="en")
    others: list[dict[str, object]] = [
        {"embedder_text_prefix": "passage: "},
        {"embedder_pooling": "cls"},
        {"embedder_max_tokens": 128},
    ]
    assert len({first, *(_id(copy, **given) for given in others)}) == 4
    with (copy / "tokenizer.json").open("a") as file:
        file.write("\n")
    assert first != _id(copy)


def _other_inputs() -> ModelProto:
    model = bundled()
    for node in model.graph.node:
        node.input[:] = ["pixels" if one == "ids" else one for one in node.input]
    model.graph.input[0].name = "pixels"
    return model


def _no_vectors() -> ModelProto:
    """A graph that answers how many tokens there are."""
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
        for name in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info("size", TensorProto.INT64, [])
    nodes = [
        helper.make_node("Add", ["input_ids", "attention_mask"], ["summed"]),
        helper.make_node("Size", ["summed"], ["size"]),
    ]
    graph = helper.make_graph(nodes, "size", inputs, [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def _larger_vocabulary(folder: Path) -> None:
    words = {f"word{number}": number for number in range(40_000)}
    Tokenizer(WordLevel(words, unk_token="word0")).save(str(folder / "tokenizer.json"))


def _no_file(folder: Path, name: str) -> None:
    (folder / name).unlink()


def _a_folder(folder: Path, name: str) -> None:
    (folder / name).unlink()
    (folder / name).mkdir()


WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "no graph": (lambda folder: _no_file(folder, "model.onnx"), "model.onnx cannot be read: No"),
    "no tokenizer": (
        lambda folder: _no_file(folder, "tokenizer.json"),
        "tokenizer.json cannot be read: No",
    ),
    "unreadable": (lambda folder: _a_folder(folder, "model.onnx"), "model.onnx cannot be read: Is"),
    "no ONNX": (
        lambda folder: (folder / "model.onnx").write_text("version https://git-lfs"),
        "model.onnx must be an ONNX graph; it cannot be read: ",
    ),
    "an empty graph": (
        lambda folder: (folder / "model.onnx").write_bytes(b""),
        "model.onnx must be an ONNX graph; it cannot be read: ",
    ),
    "half a graph": (
        lambda folder: (folder / "model.onnx").write_bytes(
            (folder / "model.onnx").read_bytes()[:1_000_000]
        ),
        "model.onnx must be an ONNX graph; it cannot be read: ",
    ),
    "no tokens": (
        lambda folder: (folder / "tokenizer.json").write_text('{"version": "1.0"}'),
        "tokenizer.json must be a tokenizer in the form of the library tokenizers; it cannot be ",
    ),
    "other inputs": (
        lambda folder: onnx.save(_other_inputs(), str(folder / "model.onnx")),
        (
            "must have the inputs input_ids and attention_mask of whole numbers, may have"
            " token_type_ids, and no other; got pixels, mask."
        ),
    ),
    "no vectors": (
        lambda folder: onnx.save(_no_vectors(), str(folder / "model.onnx")),
        (
            "must have an output of floats of the form (texts, tokens, dimensions) or"
            " (texts, dimensions); got size."
        ),
    ),
    "a tokenizer of another model": (_larger_vocabulary, "and know the 40000 of the tokenizer"),
}


@pytest.mark.parametrize("case", WRONG)
def test_files_that_are_no_model_are_refused_by_their_path(
    tmp_path: Path, folders: dict[str, Path], case: str, capfd: pytest.CaptureFixture[str]
) -> None:
    spoil, told = WRONG[case]
    for file in folders["pools by itself"].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    spoil(tmp_path)
    with pytest.raises(ModelSetupError) as refused:
        open_embedder(settings(tmp_path))
    assert told in str(refused.value)
    assert str(tmp_path) in str(refused.value)
    assert capfd.readouterr() == ("", "")


def test_more_tokens_than_the_model_takes_are_refused(folders: dict[str, Path]) -> None:
    with pytest.raises(ModelSetupError, match=r"must take 600 tokens of a text .*_MAX_TOKENS"):
        open_embedder(settings(folders["pools by itself"], embedder_max_tokens=600))


@pytest.mark.parametrize("folder", [None, Path("nowhere")])
def test_without_its_folder_it_says_what_is_expected(folder: Path | None) -> None:
    expected = "MEMORY_BANK_EMBEDDER_FOLDER.*a folder with model.onnx and tokenizer.json"
    with pytest.raises(ModelSetupError, match=expected):
        open_embedder(settings(folder))


@pytest.mark.parametrize(
    ("given", "covers", "told"),
    [
        (None, None, "what its model does (onnx:"),
        ("", None, "what its model does (onnx:"),
        ("en", ("en",), "English (onnx:"),
        (" DE, en,xx ", ("de", "en", "xx"), "German, English, Xx (onnx:"),
    ],
)
def test_its_languages_are_those_of_the_setting(
    monkeypatch: pytest.MonkeyPatch,
    folders: dict[str, Path],
    given: str | None,
    covers: tuple[str, ...] | None,
    told: str,
) -> None:
    monkeypatch.setenv("MEMORY_BANK_EMBEDDER", "onnx")
    monkeypatch.setenv("MEMORY_BANK_EMBEDDER_FOLDER", str(folders["pools by itself"]))
    if given is not None:
        monkeypatch.setenv("MEMORY_BANK_EMBEDDER_LANGUAGES", given)
    embedder: ManagedEmbedder = open_embedder(Settings())
    assert embedder.covers == covers
    assert embedder.languages.startswith(told)


@pytest.mark.parametrize("given", ["english", "en;de", "e"])
def test_what_is_no_list_of_languages_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match="must be ISO 639-1 codes with commas between them"):
        settings(None, embedder_languages=given)
