"""Uploads that break off, against the service as users start it: nothing of them is there."""

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.bank import ok
from tests.support.live import KEY, LiveServer, free_port, live_server, start, stop

_ENGINE = "/v1beta1/reasoningEngines/1"
_NAMESPACE = f"{_ENGINE}/taskMemories/tools/namespaces/n"
_ARTIFACT = f"{_NAMESPACE}/artifacts/a"
_CANARY = b"canary-zq77c1f09b2e"
_SIZE = 3_000_000
_SOON_SECONDS = 20
_SETTINGS = {
    "MEMORY_BANK_EMBEDDER": "hash",
    "MEMORY_BANK_LOG_FORMAT": "json",
    "MEMORY_BANK_SWEEP_INTERVAL_SECONDS": "0.5",
    "MEMORY_BANK_TASK_SWEEP_GRACE_SECONDS": "0",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("uploads")
    for parent in (found, *found.parents[:2]):
        parent.chmod(0o755)
    return found


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[LiveServer]:
    with live_server(folder, **_SETTINGS) as found:
        yield found


@pytest.fixture
def client(server: LiveServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {KEY}"}) as found:
        yield found


def _begin(port: int, sent: int) -> socket.socket:
    """Announce an artifact, and send a part of it."""
    found = socket.create_connection(("127.0.0.1", port))
    head = (
        f"PUT {_ARTIFACT} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {KEY}\r\n"
        f"Content-Type: text/plain\r\nContent-Length: {_SIZE}\r\n\r\n"
    )
    found.sendall(head.encode() + (_CANARY * (sent // len(_CANARY) + 1))[:sent])
    return found


def _held(client: httpx.Client) -> int:
    """Return how many bytes of artifacts the engine has, with those that are coming."""
    used: int = ok(client.get(f"{_ENGINE}:usage"))["quotas"]["artifactBytes"]["used"]
    return used


def _until_held(client: httpx.Client, wanted: int) -> None:
    deadline = time.monotonic() + _SOON_SECONDS
    while _held(client) != wanted:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_of_an_upload_that_is_cut_nothing_is_left(
    client: httpx.Client, server: LiveServer, folder: Path
) -> None:
    connection = _begin(server.port, 2_000_000)
    _until_held(client, _SIZE)
    assert client.get(_ARTIFACT).status_code == 404
    assert client.get(_NAMESPACE).status_code == 404
    connection.close()
    _until_held(client, 0)
    assert client.get(_ARTIFACT).status_code == 404
    content = os.urandom(_SIZE)
    ok(client.put(_ARTIFACT, content=content))
    assert client.get(f"{_ARTIFACT}/content").content == content
    ok(client.delete(_ARTIFACT))
    assert _CANARY not in (folder / "stderr").read_bytes()


def test_a_download_is_cut_without_harm(client: httpx.Client, server: LiveServer) -> None:
    content = os.urandom(_SIZE)
    ok(client.put(_ARTIFACT, content=content))
    with client.stream("GET", f"{_ARTIFACT}/content") as answer:
        assert next(answer.iter_raw())
    part = client.get(f"{_ARTIFACT}/content", headers={"Range": "bytes=-10"})
    assert (part.status_code, part.content) == (206, content[-10:])
    ok(client.delete(_ARTIFACT))
    del server


def test_what_a_killed_process_leaves_is_swept(tmp_path: Path) -> None:
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    short = {**_SETTINGS, "MEMORY_BANK_TASK_UPLOAD_SECONDS": "1"}
    server = start(tmp_path, free_port(), **short)
    connection = _begin(server.port, 2_000_000)
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=server.url, headers=headers) as client:
        _until_held(client, _SIZE)
    server.process.kill()
    server.process.wait()
    connection.close()
    server = start(tmp_path, free_port(), **short)
    try:
        with httpx.Client(base_url=server.url, headers=headers) as client:
            assert client.get(_ARTIFACT).status_code == 404
            _until_held(client, 0)
    finally:
        stop(server)
