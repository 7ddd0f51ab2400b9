"""Health and metrics on a port of their own need neither a key nor a database."""

import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.adapters.postgres.embedded import EmbeddedPostgres
from app.settings.settings import Settings
from tests.support.clusters import fill
from tests.support.live import KEY, free_port, live_server

_SECONDS = 30


@pytest.fixture
def folder() -> Iterator[Path]:
    # Short, since a Unix socket's path may have about 100 characters.
    found = Path(tempfile.mkdtemp(prefix="omb-"))
    found.chmod(0o755)
    yield found
    shutil.rmtree(found, ignore_errors=True)


def _is_up(url: str, **headers: str) -> bool:
    answer = httpx.get(f"{url}/metrics", headers=headers)
    assert answer.status_code == 200, answer.text
    return "memory_bank_database_up 1.0" in answer.text.splitlines()


def _await_down(url: str, **headers: str) -> None:
    """Wait until what was read a moment before is read again."""
    deadline = time.monotonic() + _SECONDS
    while _is_up(url, **headers):
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_metrics_are_served_without_a_key_or_a_database(folder: Path) -> None:
    port = free_port()
    fill(folder)
    with EmbeddedPostgres(Settings(data_dir=folder)) as postgres:
        settings = {
            "DATABASE_URL": postgres.url,
            "METRICS_PORT": str(port),
            "EMBEDDER": "hash",
            "LOG_FORMAT": "json",
        }
        given = {f"MEMORY_BANK_{name}": value for name, value in settings.items()}
        with live_server(folder, **given) as server:
            beside = f"http://127.0.0.1:{port}"
            key = {"x-goog-api-key": KEY}
            assert _is_up(beside)
            assert _is_up(server.url, **key)
            assert httpx.get(f"{beside}/readyz").status_code == 200
            for path in ("/", "/docs", "/metricz"):
                assert httpx.get(beside + path).status_code == 404
            assert httpx.post(f"{beside}/metrics").status_code == 405
            assert httpx.get(f"{server.url}/metrics").status_code == 401
            postgres.stop()
            _await_down(beside)
            _await_down(server.url, **key)
            assert httpx.get(f"{beside}/healthz").status_code == 200
            assert httpx.get(f"{beside}/readyz").status_code == 503
    lines = [json.loads(line) for line in (folder / "stderr").read_text().splitlines()]
    failed = [line for line in lines if line["event"] == "database.failed"]
    told = [(line["sqlstate"], line["statement"]) for line in failed]
    assert told
    assert len(told) == len(set(told)), "each state of a statement at most once a minute"
