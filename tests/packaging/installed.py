"""An environment with the wheel in it, and a first memory that its command serves."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.packaging.checkout import UNSET
from tests.support.clusters import fill
from tests.support.live import free_port

UNWANTED = {"sentence-transformers", "torch", "transformers"}
"""The embedder's weights are in the wheel; what runs them must not come with it."""
MOST_TRIMMED = 350e6
"""Bytes on the disk; the bar of the project, which `make run` holds, too."""
_KEY = "a-key-of-the-first-memory"
_START_SECONDS = 120
_STOP_SECONDS = 30


def used_bytes(folder: Path) -> int:
    """Return what the files take on the disk; a file with two names counts once."""
    states = {(state.st_dev, state.st_ino): state for state in map(Path.lstat, folder.rglob("*"))}
    return sum(state.st_blocks * 512 for state in states.values())


def run(*command: str | Path, folder: Path | None = None) -> str:
    """Run a command as a newcomer's shell does; return what it prints."""
    done = subprocess.run(
        ["env", *UNSET, *map(str, command)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


def new_environment(folder: Path, *options: str) -> Path:
    """Make an environment; return the folder of its programs."""
    run(sys.executable, "-m", "venv", *options, folder)
    return folder / "bin"


@contextmanager
def _served(command: Path, folder: Path) -> Iterator[str]:
    """Serve from a folder with a database of its own; give the address."""
    (data := folder / ".data").mkdir()
    fill(data)  # in the tests alone: elsewhere the start makes the database
    url = f"http://127.0.0.1:{(port := free_port())}"
    arguments = ["env", *UNSET, f"MEMORY_BANK_ADMIN_KEY={_KEY}", str(command), "serve"]
    with (
        (folder / "output").open("wb") as output,
        subprocess.Popen(
            [*arguments, "--port", str(port)], cwd=folder, stdout=output, stderr=output
        ) as process,
    ):
        try:
            deadline = time.monotonic() + _START_SECONDS
            while not _is_ready(url):
                words = (folder / "output").read_text()
                assert process.poll() is None, words
                assert time.monotonic() < deadline, words
                time.sleep(0.1)
            yield url
            os.kill(process.pid, signal.SIGTERM)
            assert process.wait(_STOP_SECONDS) == 0
        finally:
            process.kill()


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").status_code == 200
    except httpx.TransportError:
        return False


def first_memory(command: Path, folder: Path) -> list[str]:
    """Serve, create a memory and search; return the facts that are found."""
    scope = {"user_id": "42"}
    with _served(command, folder) as url:
        bank = f"{url}/v1/reasoningEngines/1/memories"
        headers = {"Authorization": f"Bearer {_KEY}"}
        fact = {"scope": scope, "fact": "I prefer a window seat."}
        httpx.post(bank, headers=headers, json=fact).raise_for_status()
        query = {"searchQuery": "Where does the user like to sit?"}
        body = {"scope": scope, "similaritySearchParams": query}
        found = httpx.post(f"{bank}:retrieve", headers=headers, json=body)
    found.raise_for_status()
    return [hit["memory"]["fact"] for hit in found.json()["retrievedMemories"]]
