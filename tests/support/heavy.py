"""Clients that send costly bodies again and again, and one beside them that asks for little."""

import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

from tests.support.live import KEY, LiveServer
from tests.support.sockets import request

LISTS = b'{"x":[' + b"[]," * 2_600_000 + b"[]]}"
"""7.8 MB of JSON that took nine seconds to parse, during which nobody was answered."""
_PATH = "/v1/reasoningEngines/1"
_PIECE_BYTES = 2**20
_TIMEOUT_SECONDS = 60


class Senders:
    """Threads that send a body, each on a connection of its own, and wait for the answer."""

    def __init__(self, port: int, body: bytes) -> None:
        self._port = port
        self._sent = request(
            f"{_PATH}/memories",
            f"Authorization: Bearer {KEY}",
            "Content-Type: application/json",
            "Connection: close",
            method="POST",
            body=body,
        )
        self._ends = threading.Event()
        self.statuses: Counter[int] = Counter()

    @contextmanager
    def sending(self, count: int) -> Iterator[None]:
        """Send beside the block."""
        threads = [threading.Thread(target=self._send) for _ in range(count)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ends.set()
            for thread in threads:
                thread.join()

    def _send(self) -> None:
        while not self._ends.is_set():
            with socket.create_connection(("127.0.0.1", self._port), _TIMEOUT_SECONDS) as one:
                # The interpreter is free meanwhile: who asks beside this is not held up by it.
                one.sendall(self._sent)
                answer = b""
                while piece := one.recv(_PIECE_BYTES):
                    answer += piece
            self.statuses[int(answer.split()[1])] += 1


def latencies(port: int, seconds: float) -> list[float]:
    """Return how many seconds small requests take, sorted; one is sent after another."""
    found: list[float] = []
    connection = HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_SECONDS)
    ends = time.monotonic() + seconds
    while (began := time.monotonic()) < ends:
        connection.request("GET", _PATH, headers={"Authorization": f"Bearer {KEY}"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        found.append(time.monotonic() - began)
    connection.close()
    return sorted(found)


def p99(ascending: list[float]) -> float:
    """Return what all but one in a hundred are at most."""
    return ascending[len(ascending) * 99 // 100]


def memory(server: LiveServer) -> int:
    """Return how many bytes a server has in memory."""
    return _bytes(server, "VmRSS")


@contextmanager
def peak(server: LiveServer) -> Iterator[list[int]]:
    """Give a list that has, after the block, the most bytes that a server had in memory in it."""
    Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")
    found: list[int] = []
    yield found
    found.append(_bytes(server, "VmHWM"))


def _bytes(server: LiveServer, name: str) -> int:
    for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"{name} is not told")
