"""The factory opens what the settings name, or says why not."""

import pytest
from structlog.testing import capture_logs

from app.adapters.llm.factory import open_embedder
from app.adapters.llm.providers.embed_minilm import MiniLmEmbedder
from app.settings.settings import EmbedderChoice, Settings


def _settings(choice: str) -> Settings:
    return Settings(embedder=EmbedderChoice(choice))


@pytest.fixture
def without_minilm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MiniLmEmbedder, "missing_packages", lambda: ["onnxruntime"])


@pytest.mark.parametrize("choice", ["auto", "minilm"])
async def test_minilm_is_opened_where_it_is_installed(choice: str) -> None:
    with capture_logs() as logs:
        embedder = open_embedder(_settings(choice))

    assert (embedder.model_id, embedder.dimensions) == ("all-MiniLM-L6-v2/int8", 384)
    assert not embedder.lexical_only
    assert not embedder.ready
    assert logs == []
    await embedder.close()


async def test_hashing_by_name_says_that_it_is_lexical_only() -> None:
    with capture_logs() as logs:
        embedder = open_embedder(_settings("hash"))

    assert (embedder.model_id, embedder.lexical_only) == ("hash-384/1", True)
    assert [(log["log_level"], log["event"]) for log in logs] == [
        ("warning", "embedder.lexical_only")
    ]
    await embedder.close()


@pytest.mark.usefixtures("without_minilm")
async def test_auto_falls_back_to_hashing_and_names_what_is_missing() -> None:
    with capture_logs() as logs:
        embedder = open_embedder(_settings("auto"))

    assert embedder.model_id == "hash-384/1"
    assert logs[0]["missing"] == ["onnxruntime"]
    await embedder.close()


@pytest.mark.usefixtures("without_minilm")
def test_minilm_by_name_is_an_error_where_it_is_missing() -> None:
    with pytest.raises(RuntimeError, match=r"not installed: onnxruntime\. Install"):
        open_embedder(_settings("minilm"))
