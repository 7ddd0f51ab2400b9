"""`memory-bank export` against a live server: the archive, the plain memories, and refusals."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

from app.process.cli import app
from tests.packaging.checkout import scratch_folder
from tests.support.archives import of_kind, read
from tests.support.bank import ok
from tests.support.live import KEY, LiveServer, live_server

_SCOPE = {"user_id": "42"}


@pytest.fixture(scope="module")
def server() -> Iterator[LiveServer]:
    settings = {"MEMORY_BANK_EMBEDDER": "hash", "MEMORY_BANK_LOG_LEVEL": "WARNING"}
    with scratch_folder() as folder, live_server(folder, **settings) as running:
        headers = {"Authorization": f"Bearer {KEY}"}
        base = f"{running.url}/v1beta1/reasoningEngines/1"
        with httpx.Client(base_url=base, headers=headers) as client:
            metadata = {"n": {"doubleValue": 2.5}}
            body = {"fact": "Ich mag Grüntee.", "scope": _SCOPE, "metadata": metadata}
            ok(client.post("/memories", params={"memoryId": "tea"}, json=body))
            ok(client.post("/memories", params={"memoryId": "gone"}, json=body))
            ok(client.delete("/memories/gone"))
        yield running


def _run(server: LiveServer, *arguments: str, key: str | None = KEY) -> Result:
    told = ["export", "--url", server.url, *arguments]
    variables = {"MEMORY_BANK_CLIENT_KEY": key}
    return CliRunner().invoke(app, told, env=variables)


def test_an_archive_is_proven_and_private(server: LiveServer, tmp_path: Path) -> None:
    file = tmp_path / "bank.omb.gz"
    ended = _run(server, "--output", str(file), "--vectors", "--wait", "30")
    assert ended.exit_code == 0, ended.output
    assert "personal data in clear" in ended.stderr
    assert "memory 2" in ended.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [*tmp_path.iterdir()] == [file]
    archive = file.read_bytes()
    read([archive])
    assert [line["memoryId"] for line in of_kind(archive, "vector")] == ["tea"]


def test_a_file_that_exists_is_kept_without_force(server: LiveServer, tmp_path: Path) -> None:
    file = tmp_path / "bank.omb.gz"
    file.write_text("mine")
    ended = _run(server, "--output", str(file))
    assert (ended.exit_code, ended.stderr) == (1, f"{file} exists; --force replaces it.\n")
    assert file.read_text() == "mine"
    assert _run(server, "--output", str(file), "--force").exit_code == 0
    read([file.read_bytes()])


def test_plain_memories_are_lines_of_an_import(server: LiveServer) -> None:
    ended = _run(server, "--output", "-", "--plain")
    assert ended.exit_code == 0
    # Nothing else of the archive is counted.
    assert "Exported to standard output: memory 1.\n" in ended.stderr
    [line] = map(json.loads, ended.stdout.splitlines())
    times = {line.pop("createTime")[:2], line.pop("updateTime")[:2]}
    assert times == {"20"}
    assert line == {
        "memoryId": "tea",
        "fact": "Ich mag Grüntee.",
        "scope": _SCOPE,
        "metadata": {"n": {"doubleValue": 2.5}},
        "memoryType": "NATURAL_LANGUAGE_COLLECTION",
    }


@pytest.mark.parametrize(
    ("arguments", "key", "status", "message"),
    [
        (["--engine", "2"], KEY, 1, "does not exist"),
        (["--engine", "one"], KEY, 2, "--engine: must be the id of an engine"),
        ([], "wrong", 1, "CREDENTIAL_INVALID"),
        ([], "", 2, "MEMORY_BANK_CLIENT_KEY"),
        (["--url", "http://127.0.0.1:1"], KEY, 1, "No service answers at http://127.0.0.1:1"),
        (["--key-file", "/nowhere"], KEY, 2, "--key-file: /nowhere cannot be read"),
    ],
)
def test_a_refusal_is_a_sentence_and_leaves_no_file(
    server: LiveServer,
    tmp_path: Path,
    arguments: list[str],
    key: str,
    status: int,
    message: str,
) -> None:
    ended = _run(server, "--output", str(tmp_path / "x"), *arguments, key=key)
    assert ended.exit_code == status, ended.output
    assert message in ended.stderr
    assert [*tmp_path.iterdir()] == []


def test_a_file_that_cannot_be_written_is_named(server: LiveServer) -> None:
    ended = _run(server, "--output", "/nowhere/bank.omb.gz")
    assert ended.exit_code == 1
    assert "/nowhere/bank.omb.gz cannot be written" in ended.stderr
