"""`memory-bank reembed`, a client of a running service."""

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
    server: LiveServer, *options: str, status: int = 0
) -> "subprocess.CompletedProcess[str]":
    named = {"MEMORY_BANK_CLIENT_URL": server.url, "MEMORY_BANK_CLIENT_KEY": KEY}
    arguments = ["-m", "app.process.cli", "reembed", *options]
    done = forks.run(arguments, {**os.environ, **named}, 120)
    assert done.returncode == status, done.stderr
    return done


def _asked(server: LiveServer, method: str, path: str, body: Json | None = None) -> Json:
    headers = {"Authorization": f"Bearer {KEY}"}
    url = f"{server.url}/v1/reasoningEngines/1{path}"
    return ok(httpx.request(method, url, json=body, headers=headers))


def test_it_follows_the_service_until_the_new_model_serves(
    folder: Path, model: ModelServer
) -> None:
    with live_server(folder, MEMORY_BANK_EMBEDDER="hash") as server:
        for fact in _FACTS:
            _asked(server, "POST", "/memories", {"fact": fact, "scope": {"user_id": "42"}})
    settings = {
        "MEMORY_BANK_EMBEDDER": "http",
        "MEMORY_BANK_EMBEDDING_BASE_URL": model.url,
        "MEMORY_BANK_EMBEDDING_MODEL": "next",
    }
    with live_server(folder, **settings) as server:
        one = _reembed(server, "--engine", "1")
        body = {"scope": {"user_id": "42"}, "similaritySearchParams": {"searchQuery": "tea"}}
        found = _asked(server, "POST", "/memories:retrieve", body)
        again = _reembed(server, "--all")
    assert one.stdout.splitlines()[-1] == f"{_ENGINE}: 3 memories; http:next serves."
    assert {*_FACTS} <= {text for seen in model.seen for text in seen.body["input"]}
    assert found["retrievedMemories"][0]["memory"]["fact"] == "I like tea."
    assert again.stdout.startswith(f"{_ENGINE}: ")


def test_what_is_wrong_is_one_sentence(folder: Path) -> None:
    with live_server(folder, MEMORY_BANK_EMBEDDER="hash") as server:
        for options in ((), ("--all", "--engine", "1")):
            misused = _reembed(server, *options, status=2)
            assert misused.stderr == "Give at least one --engine, or --all.\n"
        unknown = _reembed(server, "--engine", "7", status=1)
    assert unknown.stderr.count("\n") == 1
    assert "reasoningEngines/7" in unknown.stderr
    absent = _reembed(server, "--all", status=1)
    assert absent.stderr.startswith(f"No service answers at {server.url}: ")
