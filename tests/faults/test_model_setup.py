"""A model that cannot be opened stops the start, in one sentence."""

import os
from pathlib import Path

import pytest

from tests.support import forks


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        (
            {"MEMORY_BANK_MODEL": "gpt-5-mini"},
            "MEMORY_BANK_MODEL must be one of openai:..., anthropic:..., google:...",
        ),
        ({"MEMORY_BANK_MODEL": "openai:gpt-5-mini"}, "needs an API key"),
        ({"MEMORY_BANK_EMBEDDER": "http"}, "The embedder http needs"),
        ({"MEMORY_BANK_EMBEDDER": "onnx"}, "The embedder onnx needs MEMORY_BANK_EMBEDDER_FOLDER"),
        (
            {"MEMORY_BANK_EMBEDDER": "onnx", "MEMORY_BANK_EMBEDDER_FOLDER": "."},
            "must be a folder with model.onnx and tokenizer.json; /",
        ),
    ],
)
def test_the_start_ends_with_a_sentence(
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    sentence: str,
) -> None:
    inherited = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    environment = {**inherited, "MEMORY_BANK_DATABASE_URL": database_url, **variables}
    environment |= {"PYTHONPATH": str(Path.cwd()), "MEMORY_BANK_PORT": "0"}
    monkeypatch.chdir(tmp_path)

    ended = forks.run(["-m", "app.process.cli", "serve"], environment, 60)

    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert sentence in line
