"""Processes see each other, and those of an older release end beside a newer schema."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from socket import gethostname
from typing import Any

import httpx
import psycopg
import pytest

from app.adapters.db.schema import wanted_revision
from app.kernel.errors import Reason
from tests.packaging.checkout import ROOT
from tests.support import live
from tests.support.errors import refusal
from tests.support.live import KEY, free_port, live_server
from tests.support.operations import USER
from tests.support.workers import own_database, worker

_SOON_SECONDS = 60
"""Longer than anything takes beside load: to fail by, not to measure with."""
_NEXT = "ffffffff9999"
_MIGRATION = """
import sqlalchemy as sa
from alembic import op
revision, down_revision, branch_labels, depends_on = "{next}", "{head}", None, None
def upgrade() -> None:
    op.add_column("ticks", sa.Column("note", sa.Text()))
def downgrade() -> None:
    op.drop_column("ticks", "note")
"""
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
        # A worker beats before it listens.
        with httpx.Client(transport=httpx.HTTPTransport(retries=10)) as client:
            assert client.get(f"{own}/healthz").status_code == 200
        eventually(lambda: readiness(own) == (200, "1 seen"))
        assert "memory_bank_workers_seen 1.0" in httpx.get(f"{own}/metrics").text
        running.kill()
        eventually(lambda: readiness(server.url) == (503, "0 seen"))
        with worker(url, **_QUICK) as another:
            eventually(lambda: readiness(server.url) == (200, "1 seen"))
            another.terminate()
            another.wait(_SOON_SECONDS)
            assert readiness(server.url) == (503, "0 seen")


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """A checkout of a newer release, which differs by one migration."""
    checkout = tmp_path / "newer"
    shutil.copytree(ROOT / "migrations", checkout / "migrations")
    (checkout / "app").symlink_to(ROOT / "app")
    migration = _MIGRATION.format(next=_NEXT, head=wanted_revision())
    (checkout / "migrations/versions/99991231_2359_next.py").write_text(migration)
    return checkout


def migrating(checkout: Path, url: str, *options: str) -> "subprocess.Popen[str]":
    """Start `memory-bank migrate` of a checkout."""
    return subprocess.Popen(
        [sys.executable, "-m", "app.process.cli", "migrate", *options],
        cwd=checkout,
        env={**os.environ, "MEMORY_BANK_DATABASE_URL": url},
        stderr=subprocess.PIPE,
        text=True,
    )


def write(server: str) -> httpx.Response:
    body = {"scope": USER, "fact": "I like tea."}
    path = f"{server}/v1/reasoningEngines/1/memories"
    return httpx.post(path, json=body, headers={"x-goog-api-key": KEY})


def test_a_forced_migration_makes_older_processes_stop_writing_and_end(
    url: str, newer: Path, tmp_path: Path
) -> None:
    with worker(url, embedder="hash", processes="2") as old_worker:
        variables = {"MEMORY_BANK_DATABASE_URL": url, "MEMORY_BANK_EMBEDDER": "hash"}
        server = live.start(tmp_path, None, **variables)
        eventually(lambda: readiness(server.url) == (200, "2 seen"))
        refused = migrating(newer, url)
        _, said = refused.communicate(timeout=_SOON_SECONDS)
        assert refused.returncode == 3
        host, release = gethostname(), version("open-memory-bank")
        assert (
            f"another schema: api {host} of {release}, worker {host} of {release} (2 processes). "
            in said
        )
        assert "docker compose stop api worker" in said
        assert write(server.url).status_code == 200

        forced = migrating(newer, url, "--force")
        eventually(lambda: write(server.url).status_code == 503)
        last = write(server.url)
        assert refusal(last) == (503, "UNAVAILABLE", Reason.SCHEMA_CHANGED)
        unready = httpx.get(f"{server.url}/readyz")
        checks = unready.json()["error"]["details"][0]["metadata"]
        assert (unready.status_code, checks["schema"]) == (503, "of another release")
        assert forced.poll() is None, "nothing is altered before the others have stopped"
        memories = f"{server.url}/v1/reasoningEngines/1/memories"
        assert httpx.get(memories, headers={"x-goog-api-key": KEY}).status_code == 200
        with worker(url, embedder="hash") as late:
            assert late.wait(_SOON_SECONDS) == 1, "none of the old release starts meanwhile"
        assert server.process.wait(_SOON_SECONDS) == 75
        assert old_worker.wait(_SOON_SECONDS) == 75
        forced.communicate(timeout=_SOON_SECONDS)
        assert forced.returncode == 0
    with psycopg.connect(url) as connection:
        row = connection.execute(b"select version_num from alembic_version").fetchone()
        assert row == (_NEXT,)
        marks = b"select count(*) from processes where kind = 'MIGRATION'"
        assert connection.execute(marks).fetchone() == (0,)
