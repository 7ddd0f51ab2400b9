"""A model that cannot be opened stops the start, in one sentence."""

import os
from pathlib import Path

import pytest

from tests.support import forks
from tests.support.commands import program

_TURNS = """
import asyncio

from app.adapters.resources import open_resources
from app.settings.settings import Settings


async def count(turns):
    while True:
        turns.append(1)
        await asyncio.sleep(0.01)


async def main():
    turns, settings = [], Settings()
    counting = asyncio.create_task(count(turns))
    async with open_resources(settings, settings.database_url.get_secret_value()):
        print(len(turns))
    counting.cancel()


asyncio.run(main())
"""
_MANY = 10
"""Turns of the loop in the seconds that a provider's client takes to import; of one that is held up
it has two or three.
"""


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


def test_the_loop_turns_while_clients_of_providers_are_imported(database_url: str) -> None:
    """Else the watchdog ends a process that starts on a busy machine, again and again."""
    settings = {"database_url": database_url, "model": "openai:gpt-5-mini", "model_key": "sk-1"}
    ended = program(_TURNS, **settings)
    assert int(ended.stdout.split()[-1]) > _MANY, ended.stderr
