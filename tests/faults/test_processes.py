"""Processes see each other: by their heartbeats, also of those that are killed."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.live import free_port, live_server
from tests.support.workers import own_database, worker

_SOON_SECONDS = 60
"""Longer than anything takes beside load: to fail by, not to measure with."""
_QUICK: dict[str, Any] = {
    "process_beat_seconds": "0.2",
    "process_seen_seconds": "2",
    "embedder": "hash",
}


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The address of a database that no other processes use."""
    with own_database(tmp_path) as found:
        yield found


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SOON_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def variables(url: str, **more: str) -> dict[str, str]:
    given: dict[str, str] = {**_QUICK, "database_url": url, **more}
    return {f"MEMORY_BANK_{name.upper()}": value for name, value in given.items()}


def readiness(url: str) -> tuple[int, str]:
    """Return the status of `/readyz`, and what it says of workers."""
    answer = httpx.get(f"{url}/readyz")
    said: dict[str, Any] = answer.json()
    checks = said.get("checks") or said["error"]["details"][0]["metadata"]
    return answer.status_code, checks["workers"]


def test_a_killed_worker_is_missed_by_a_server_that_needs_one(url: str, tmp_path: Path) -> None:
    port = free_port()
    command = ("app.process.cli", "worker", "--port", str(port))
    with (
        worker(url, command=command, **_QUICK) as running,
        live_server(tmp_path, **variables(url, require_worker="true")) as server,
    ):
        assert readiness(server.url) == (200, "1 seen")
        own = f"http://127.0.0.1:{port}"
        assert httpx.get(f"{own}/healthz").status_code == 200
        eventually(lambda: readiness(own) == (200, "1 seen"))
        assert "memory_bank_workers_seen 1.0" in httpx.get(f"{own}/metrics").text
        running.kill()
        eventually(lambda: readiness(server.url) == (503, "0 seen"))
        with worker(url, **_QUICK) as another:
            eventually(lambda: readiness(server.url) == (200, "1 seen"))
            another.terminate()
            another.wait(_SOON_SECONDS)
            assert readiness(server.url) == (503, "0 seen")
