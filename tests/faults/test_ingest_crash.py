"""The service killed with -9 while events wait, and while they become memories."""

import random
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import live
from tests.support.live import LiveServer
from tests.support.traffic import ENGINE, open_client

STREAMS = 6
_SOON_SECONDS = 20
_LONGEST_PAUSE_SECONDS = 0.1
SLOW = {"generationTriggerConfig": {"generationRule": {"idleDuration": "3600s"}}}


@pytest.fixture
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ingest-crash")
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o755)
    return folder


def start(data_dir: Path, port: int) -> LiveServer:
    return live.start(
        data_dir,
        port,
        MEMORY_BANK_EMBEDDER="hash",
        MEMORY_BANK_WORKER_LEASE_SECONDS="3",
        MEMORY_BANK_LOG_LEVEL="WARNING",
    )


def kill(server: LiveServer) -> None:
    server.process.kill()
    server.process.wait()


def fact(stream: int) -> str:
    return f"My favorite number is {stream}."


def ingest(client: httpx.Client, stream: int, **fields: object) -> str:
    """Send an event to a stream of a user of its own; return the operation's name."""
    content = {"role": "user", "parts": [{"text": fact(stream)}]}
    answer = client.post(
        f"{ENGINE}/memories:ingestEvents",
        json={
            "scope": {"user_id": str(stream)},
            "directContentsSource": {"events": [{"eventId": "e", "content": content}]},
            **fields,
        },
    )
    assert answer.status_code == 200, answer.text
    name: str = answer.json()["name"]
    return name


def test_buffered_events_survive(data_dir: Path) -> None:
    port = live.free_port()
    server = start(data_dir, port)
    try:
        with open_client(server.url) as client:
            names = [ingest(client, stream, **SLOW) for stream in range(STREAMS)]
            # Some wait when the service dies, others are becoming memories.
            for stream in range(STREAMS // 2):
                ingest(client, stream, forceFlush=True)
            time.sleep(random.random() * _LONGEST_PAUSE_SECONDS)
        kill(server)
        server = start(data_dir, port)
        with open_client(server.url) as client:
            # All are known already, but asked for now.
            for stream in range(STREAMS):
                ingest(client, stream, forceFlush=True)
            done = [ended(client, name) for name in names]
            facts = sorted(one["fact"] for one in memories(client))
        assert facts == sorted(map(fact, range(STREAMS)))
        assert len({one["response"]["generateMemoriesOperation"] for one in done}) == STREAMS
    finally:
        kill(server)


def memories(client: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"{ENGINE}/memories").json()["memories"]
    return found


def ended(client: httpx.Client, name: str) -> dict[str, Any]:
    deadline = time.monotonic() + _SOON_SECONDS
    while True:
        operation: dict[str, Any] = client.get(f"/v1beta1/{name}").json()
        if operation["done"]:
            assert "error" not in operation
            return operation
        assert time.monotonic() < deadline, operation
        time.sleep(0.05)
