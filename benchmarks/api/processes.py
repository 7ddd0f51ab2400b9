"""What several processes of `serve` answer together: `python -m benchmarks.api.processes`.

The command `memory-bank serve --processes N` serves on a port, each N with an embedded Postgres of
its own, and other processes ask: a search (the best 3 of a scope of a hundred), a get and a create,
over connections that stay open. CPU is that of all processes of the service, and of the server of
the database, by request; `even` is the least share of the requests that a process had, of what it
would have if all had the same. Throughput is printed only where enough cores are idle before. It
needs nothing but the service; with `--embedder hash` no model either.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from socket import create_server

from app.settings.environment import environment
from benchmarks.api.load import COUNTED, Asked, Loader, loader
from benchmarks.processes import below, cpu_by_kind, idle_cores
from benchmarks.surroundings import data_folder

_KEY = "benchmark-admin-key"
_ENGINE = "/v1beta1/projects/default/locations/local/reasoningEngines/1"
_MEMORIES = f"{_ENGINE}/memories"
_SCOPE = {"user_id": "42"}
_FACTS = (
    "I like {} tea in the morning.",
    "My sister Anna moved to {} in 2021.",
    "We watched a film about {} last Friday.",
    "Work on the {} project is due in March.",
)
_QUERY = {"searchQuery": f"Which tea do I like, number {COUNTED}?", "topK": 3}
_ROUTES = {
    "search": Asked(
        "POST", f"{_MEMORIES}:retrieve", {"scope": _SCOPE, "similaritySearchParams": _QUERY}
    ),
    "get": Asked("GET", f"{_MEMORIES}/known"),
    "create": Asked(
        "POST",
        _MEMORIES,
        {"fact": f"I like green tea, number {COUNTED}.", "scope": {"user_id": "written"}},
    ),
}
_NEEDED_IDLE = 4
_CPU_BAR = 1.25
"""CPU of a request with several processes, as a multiple of that with one."""
_START_SECONDS = 300
_CONNECTIONS = 16
_PER_PROCESS = 8
_COUNTED = "memory_bank_request_seconds_count"


@dataclass(frozen=True)
class Service:
    """The processes of the command."""

    port: int
    metrics_port: int
    pid: int
    count: int

    def cpu(self) -> tuple[float, float]:
        """Return the seconds of all processes of the service, and of those of its database."""
        return cpu_by_kind([self.pid, *below(self.pid)])

    def answered(self) -> list[int]:
        """Return how many requests each process has answered on the port of the API."""
        return [_answered(self.metrics_port + number) for number in range(self.count)]


@dataclass(frozen=True)
class Figure:
    """Of one route: requests a second, milliseconds of CPU for each, and how evenly they went."""

    per_second: float
    service: float
    database: float
    even: float


def _answered(port: int) -> int:
    with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
    counts = (line.rpartition(" ")[2] for line in lines if line.startswith(_COUNTED))
    return int(sum(float(count) for count in counts))


def _free_ports(count: int) -> int:
    """Return the first of so many ports in a row that are free."""
    while True:
        with ExitStack() as stack:
            first: int = stack.enter_context(create_server(("127.0.0.1", 0))).getsockname()[1]
            try:
                for number in range(1, count):
                    stack.enter_context(create_server(("127.0.0.1", first + number)))
            except (OSError, OverflowError):
                continue
            return first


@contextmanager
def _serving(count: int, embedder: str) -> Iterator[Service]:
    """Serve beside the block, as an operator does."""
    port = _free_ports(count + 1)
    settings = {
        "ADMIN_KEY": _KEY,
        "PORT": str(port),
        "METRICS_PORT": str(port + 1),
        "PROCESSES": str(count),
        "EMBEDDER": embedder,
        "KEY_RATE_UNITS_PER_SECOND": "0",
        "ENGINE_RATE_UNITS_PER_SECOND": "0",
    }
    given = {f"MEMORY_BANK_{name}": value for name, value in settings.items()}
    command = [sys.executable, "-m", "app.process.cli", "serve"]
    with data_folder() as folder, Path(os.devnull).open("wb") as nowhere:
        variables = {**environment(), **given, "MEMORY_BANK_DATA_DIR": str(folder)}
        process = subprocess.Popen(command, env=variables, stdout=nowhere, stderr=nowhere)
        try:
            service = Service(port, port + 1, process.pid, count)
            _await_all(service, process)
            yield service
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def _await_all(service: Service, process: "subprocess.Popen[bytes]") -> None:
    """Wait until every process is ready, its model included.

    Raises:
        RuntimeError: the command has ended, or takes too long.
    """
    deadline = time.monotonic() + _START_SECONDS
    waiting = set(range(service.count))
    while waiting:
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("The service does not start; run it alone to see why.")
        waiting = {number for number in waiting if not _is_ready(service.metrics_port + number)}
        time.sleep(0.1)


def _is_ready(port: int) -> bool:
    try:
        with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
    except OSError:
        return False


def _fill(port: int) -> None:
    """Write a scope of a hundred memories."""
    headers = {"Authorization": f"Bearer {_KEY}", "Content-Type": "application/json"}
    with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        for number in range(100):
            fact = _FACTS[number % len(_FACTS)].format(f"topic{number}")
            path = f"{_MEMORIES}?memoryId=known" if number == 0 else _MEMORIES
            body = json.dumps({"fact": fact, "scope": _SCOPE})
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            said = answer.read().decode()
            if answer.status != 200:
                raise RuntimeError(said)


def _measure(
    service: Service, loaders: Sequence[Loader], asked: Asked, connections: int, seconds: float
) -> Figure:
    answered, before = service.answered(), service.cpu()
    each = connections // len(loaders)
    with ThreadPoolExecutor(len(loaders)) as pool:
        runs = pool.map(lambda one: one.per_second(asked, each, seconds), loaders)
        counts = list(runs)
    after = service.cpu()
    count = sum(count for count, _ in counts)
    own, database = (1_000 * (b - a) / count for a, b in zip(before, after, strict=True))
    gained = [b - a for a, b in zip(answered, service.answered(), strict=True)]
    per_second = count / max(took for _, took in counts)
    return Figure(per_second, own, database, min(gained) * len(gained) / sum(gained))


def _figures(count: int, options: argparse.Namespace) -> dict[str, Figure]:
    """Measure every route against so many processes."""
    connections = options.connections or max(_CONNECTIONS, _PER_PROCESS * count)
    loading = max(1, min(count, (os.cpu_count() or 1) // 2))
    with _serving(count, options.embedder) as service, ExitStack() as stack:
        _fill(service.port)
        loaders = [stack.enter_context(loader(service.port, _KEY)) for _ in range(loading)]
        for asked in _ROUTES.values():
            # Connections, plans and caches of every process.
            _measure(service, loaders, asked, connections, min(3.0, options.seconds))
        return {
            name: _measure(service, loaders, asked, connections, options.seconds)
            for name, asked in _ROUTES.items()
            if name in options.routes
        }


def _counts() -> list[int]:
    """Return the numbers of processes up to that of the cores."""
    cores = os.cpu_count() or 1
    return sorted({*(1 << power for power in range(9) if 1 << power <= cores), cores})


def report(options: argparse.Namespace) -> None:
    """Measure and print every number of processes, beside the first of them."""
    idle = idle_cores()
    print(f"load before {_load()}; {idle:.1f} of {os.cpu_count()} cores idle")
    if idle < _NEEDED_IDLE:
        print(f"no throughput, which says nothing with fewer than {_NEEDED_IDLE} idle cores")
    head = ("route", "processes", "per second", "ratio", "CPU ms service", "ratio", "database")
    print(("{:<9}" + "{:>15}" * 7).format(*head, "even"))
    first: dict[str, Figure] = {}
    most = 0.0
    for count in options.processes or _counts():
        for name, figure in _figures(count, options).items():
            base = first.setdefault(name, figure)
            speed = ("-", "-")
            if idle >= _NEEDED_IDLE:
                ratio = figure.per_second / base.per_second
                speed = (f"{figure.per_second:.0f}", f"{ratio:.2f}")
            most = max(most, figure.service / base.service)
            spent = (figure.service, figure.service / base.service, figure.database, figure.even)
            print(
                f"{name:<9}{count:>15}{speed[0]:>15}{speed[1]:>15}"
                + "".join(f"{number:>15.2f}" for number in spent),
                flush=True,
            )
    print(f"load after {_load()}; CPU at most {most:.2f} of one process's (bar {_CPU_BAR})")


def _load() -> str:
    return " ".join(f"{load:.2f}" for load in os.getloadavg())


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read options, of the command line by default."""
    parser = argparse.ArgumentParser(description="What several processes answer together.")
    parser.add_argument("--processes", type=int, nargs="+", help="default: 1, 2, 4 ... all cores")
    parser.add_argument("--seconds", type=float, default=10, help="length of one measurement")
    parser.add_argument("--connections", type=int, help="default: 16, or 8 a process if more")
    parser.add_argument("--embedder", choices=["hash", "minilm"], default="hash")
    parser.add_argument("--routes", nargs="+", choices=list(_ROUTES), default=list(_ROUTES))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    report(parsed())
