"""Several processes of one `serve`, as an operator starts them."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import randrange
from socket import create_server

import httpx

from benchmarks.processes import below
from tests.support.live import KEY, LiveServer, start_fresh, stop

SOON_SECONDS = 90
"""Longer than anything takes beside load: to fail by, not to measure with."""
_SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
_HEADERS = {"Authorization": f"Bearer {KEY}"}


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@dataclass(frozen=True)
class Many:
    """The processes, the first of their ports for metrics, and what they write into the log."""

    server: LiveServer
    errors: Path
    metrics_port: int
    count: int

    def client(self) -> httpx.Client:
        """Open a client whose connection is new, and stays."""
        limits = httpx.Limits(max_connections=1)
        return httpx.Client(
            base_url=f"{self.server.url}/v1beta1", headers=_HEADERS, limits=limits, timeout=60
        )

    def metrics(self) -> str:
        """Return the metrics of all processes."""
        answer = httpx.get(f"{self.server.url}/metrics", headers=_HEADERS, timeout=60)
        assert answer.status_code == 200
        return answer.text

    def own_metrics(self, number: int) -> str:
        """Return the metrics of one process."""
        url = f"http://127.0.0.1:{self.metrics_port + number}/metrics"
        return httpx.get(url, timeout=60).text

    def await_all(self) -> None:
        """Wait until every server is ready."""
        eventually(lambda: all(map(self._is_ready, range(self.count))))

    def _is_ready(self, number: int) -> bool:
        url = f"http://127.0.0.1:{self.metrics_port + number}/readyz"
        try:
            return httpx.get(url, timeout=60).status_code == 200
        except httpx.TransportError:
            return False

    def pids(self, kind: str) -> list[int]:
        """Return the ids of the live processes of a kind, as the service knows them."""
        with self.client() as client:
            told = client.get(f"{self.server.url}/v1/server").json()["processes"]
        return [
            process["pid"] for process in told if process["kind"] == kind and lives(process["pid"])
        ]

    def all(self) -> list[int]:
        """Return the ids of the supervisor and of all below it, the database's server included."""
        return [self.server.process.pid, *below(self.server.process.pid)]


def value(metrics: str, name: str, **labels: str) -> float:
    """Return the sum of the samples of a name that have these labels."""
    wanted = {f'{label}="{text}"' for label, text in labels.items()}
    return sum(
        float(found[3])
        for line in metrics.splitlines()
        if (found := _SAMPLE.fullmatch(line))
        and found[1] == name
        and wanted <= set((found[2] or "").split(","))
    )


def labels_of(metrics: str, name: str, label: str) -> set[str]:
    """Return the values of a label among the samples of a name."""
    return {
        found[1]
        for line in metrics.splitlines()
        if line.startswith(f"{name}{{") and (found := re.search(f'{label}="([^"]*)"', line))
    }


def lives(pid: int) -> bool:
    """Return True for a process that has not ended."""
    with suppress(FileNotFoundError):
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state != "Z"
    return False


def await_end(pids: list[int]) -> None:
    """Wait until all have ended."""
    eventually(lambda: not any(map(lives, pids)))


@contextmanager
def many(folder: Path, count: int, **settings: str) -> Iterator[Many]:
    """Run so many processes with the embedded Postgres; stop those left after the block."""
    port = _free_ports(count)
    given = {
        "MEMORY_BANK_PROCESSES": str(count),
        "MEMORY_BANK_METRICS_PORT": str(port),
        "MEMORY_BANK_EMBEDDER": "hash",
        "MEMORY_BANK_LOG_FORMAT": "json",
        **{f"MEMORY_BANK_{name}": value for name, value in settings.items()},
    }
    server = start_fresh(folder, **given)
    try:
        found = Many(server, folder / "stderr", port, count)
        found.await_all()
        yield found
    finally:
        if server.process.poll() is None:
            stop(server)


def _free_ports(count: int) -> int:
    """Return the first of so many free ports in a row, below the range of outgoing connections."""
    while True:
        port = randrange(20_000, 32_000)
        with suppress(OSError), ExitStack() as held:
            for number in range(count):
                held.enter_context(create_server(("127.0.0.1", port + number)))
            return port
