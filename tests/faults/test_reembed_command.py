"""`memory-bank reembed`: beside a running server, and without one."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support import forks
from tests.support.bank import Json, ok
from tests.support.live import KEY, LiveServer, live_server
from tests.support.model_server import ModelServer, model_server
from tests.support.variables import with_constants

_FACTS = ["I like tea.", "I live in Rome.", "I play chess."]
_ENGINE = "projects/default/locations/local/reasoningEngines/1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    return tmp_path


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with model_server() as found:
        yield found


def _reembed(
    folder: Path, model: ModelServer, *options: str, status: int = 0, name: str = "next"
) -> "subprocess.CompletedProcess[str]":
    variables = {
        "DATA_DIR": str(folder),
        "EMBEDDER": "http",
        "EMBEDDING_BASE_URL": model.url,
        "EMBEDDING_MODEL": name,
        "MODEL_MAX_ATTEMPTS": "1",
        "LOG_LEVEL": "ERROR",
    }
    named = {f"MEMORY_BANK_{key}": value for key, value in variables.items()}
    arguments = ["-m", "app.process.cli", "reembed", *options]
    done = forks.run(arguments, {**os.environ, **with_constants(named)}, 120)
    assert done.returncode == status, done.stderr
    return done


def _asked(server: LiveServer, method: str, path: str, body: Json | None = None) -> Json:
    headers = {"Authorization": f"Bearer {KEY}"}
    url = f"{server.url}/v1/reasoningEngines/1{path}"
    return ok(httpx.request(method, url, json=body, headers=headers))


def test_it_runs_beside_a_server_and_without_one(folder: Path, model: ModelServer) -> None:
    with live_server(folder, MEMORY_BANK_EMBEDDER="hash") as server:
        for fact in _FACTS:
            _asked(server, "POST", "/memories", {"fact": fact, "scope": {"user_id": "42"}})
        # The worker of the server does not have the model, and leaves it to the command.
        beside = _reembed(folder, model, "--engine", "1")
        body = {"scope": {"user_id": "42"}, "similaritySearchParams": {"searchQuery": "tea"}}
        # Nor can the server search with it; it goes by words.
        found = _asked(server, "POST", "/memories:retrieve", body)
        assert found["retrievedMemories"][0]["memory"]["fact"] == "I like tea."
    lines = beside.stdout.splitlines()
    assert lines[-1] == f"{_ENGINE}: 3 memories; http:next serves."
    assert {text for seen in model.seen for text in seen.body["input"]} == {"warm", *_FACTS}

    alone = _reembed(folder, model, "--all", name="third")

    assert alone.stdout.splitlines()[-1] == f"{_ENGINE}: 3 memories; http:third serves."


def test_what_is_wrong_is_one_sentence(folder: Path, model: ModelServer) -> None:
    absent = _reembed(folder, model, "--all", status=1)
    assert "There is no database" in absent.stderr
    for options in ((), ("--all", "--engine", "1")):
        misused = _reembed(folder, model, *options, status=2)
        assert misused.stderr == "Give at least one --engine, or --all.\n"
    with live_server(folder, MEMORY_BANK_EMBEDDER="hash"):
        unknown = _reembed(folder, model, "--engine", "7", status=1)
    assert unknown.stderr.count("\n") == 1
    assert "reasoningEngines/7" in unknown.stderr
