"""`memory-bank restore` against a live server: a new engine, the verification, and refusals."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

from app.process.cli import app
from tests.packaging.checkout import scratch_folder
from tests.support.bank import ok
from tests.support.live import KEY, LiveServer, live_server
from tests.support.restores import archive_of, zipped

_FACT = "I own the bicycle with the number 1."


@pytest.fixture(scope="module")
def server() -> Iterator[LiveServer]:
    settings = {"MEMORY_BANK_EMBEDDER": "hash", "MEMORY_BANK_LOG_LEVEL": "WARNING"}
    with scratch_folder() as folder, live_server(folder, **settings) as running:
        yield running


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "bank.omb.gz"
    made.write_bytes(zipped(archive_of(600)))
    return made


def _run(server: LiveServer, *arguments: str, key: str | None = KEY) -> Result:
    told = ["restore", "--url", server.url, *arguments]
    return CliRunner().invoke(app, told, env={"MEMORY_BANK_CLIENT_KEY": key})


def _memories(server: LiveServer, engine: str) -> list[str]:
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=f"{server.url}/v1beta1/{engine}", headers=headers) as client:
        page = ok(client.get("/memories", params={"pageSize": "1000"}))
        return [memory["fact"] for memory in page.get("memories", [])]


def _engine_of(ended: Result) -> str:
    """Return the engine that the command names in the last line but that of a verification."""
    (name,) = [line for line in ended.stdout.splitlines() if line.startswith("Restored: ")]
    return name.removeprefix("Restored: ")


def test_a_new_engine_gets_the_archive_and_is_verified(
    server: LiveServer, file: Path, tmp_path: Path
) -> None:
    ended = _run(server, str(file), "--engine", "new", "--verify")
    assert ended.exit_code == 0, ended.output
    assert "memory: 600\n" in ended.stdout
    assert ended.stdout.endswith("Verified: the restored engine is what the archive has.\n")
    assert "Warning" not in ended.stderr
    assert len(_memories(server, _engine_of(ended))) == 600
    # Nothing is left beside the archive, so that the next time makes another engine.
    assert [*tmp_path.iterdir()] == [file]
    again = _run(server, str(file), "--engine", "new", "--extend-recovery", "--verify")
    assert again.exit_code == 0, again.output
    assert _engine_of(again) != _engine_of(ended)


def test_a_cut_archive_leaves_its_engine_to_the_whole_one(server: LiveServer, file: Path) -> None:
    whole = file.read_bytes()
    plain = gzip.decompress(whole)
    file.write_bytes(plain[: len(plain) // 2])
    broken = _run(server, str(file), "--engine", "new")
    assert broken.exit_code == 1
    assert "(ARCHIVE_TRUNCATED)" in broken.stderr
    (begun,) = [line for line in broken.stderr.splitlines() if line.startswith("Restoring into ")]
    file.write_bytes(whole)
    ended = _run(server, str(file), "--engine", "new", "--verify")
    assert ended.exit_code == 0, ended.output
    assert begun == f"Restoring into {_engine_of(ended)}."


def test_a_difference_is_found(server: LiveServer, file: Path) -> None:
    """The engine is changed between two runs of the command; the second finds it restored."""
    ended = _run(server, str(file), "--engine", "new")
    name = _engine_of(ended)
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=f"{server.url}/v1beta1/{name}", headers=headers) as client:
        ok(client.patch("/memories/m000001", json={"fact": "Another."}))
    again = _run(server, str(file), "--engine", name.rpartition("/")[2], "--verify")
    assert again.exit_code == 1
    assert "memory: 600 and 600" in again.stderr


def test_what_cannot_be_is_refused_in_one_sentence(
    server: LiveServer, file: Path, tmp_path: Path
) -> None:
    missing = _run(server, str(tmp_path / "nothing"), "--engine", "1")
    assert missing.exit_code == 2
    assert "cannot be read" in missing.stderr
    file.write_bytes(b"no archive at all")
    ended = _run(server, str(file), "--engine", "1")
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert "neither gzip nor NDJSON" in ended.stderr
    file.write_bytes(zipped(archive_of(1)))
    wrong = _run(server, str(file), "--engine", "1", key="no-key")
    assert wrong.exit_code == 1
    assert "(CREDENTIAL_INVALID)" in wrong.stderr


def test_a_full_engine_is_refused_however_long_the_archive_is(
    server: LiveServer, file: Path
) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    base = f"{server.url}/v1beta1/reasoningEngines/1"
    with httpx.Client(base_url=base, headers=headers) as client:
        ok(client.post("/memories", json={"fact": _FACT, "scope": {"user_id": "1"}}))
    file.write_bytes(archive_of(20_000))
    ended = _run(server, str(file), "--engine", "1")
    assert ended.exit_code == 1
    assert "(ENGINE_NOT_EMPTY)" in ended.stderr
