"""What a Citus cluster costs beside one Postgres: `python -m benchmarks.citus`.

MEMORY_BANK_TEST_CITUS_URL names the cluster; the other database is the embedded Postgres. Each has
a database of its own with the same memories, and one `serve` before it. One caller asks both in
turn, in blocks of 25 requests: `p50` is the median of the blocks' medians. CPU is that of all
processes of the servers of a database, by request, which needs servers of this machine. The
embedded Postgres commits as the coordinator does, waiting for the disk or not. `--embedder hash`
leaves out what an embedding takes, so that ratios are those of all else. Then, with a worker
beside `serve`, it prints what the servers spend while nobody asks, and how long an operation waits
in the queue.
"""

import argparse
import asyncio
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

from app.adapters.db import migrate
from app.adapters.resources import open_resources
from app.memory.retrieval.jobs import IndexSweep
from app.settings.settings import EmbedderChoice, Settings
from benchmarks.api.load import COUNTED
from benchmarks.processes import cpu_of, is_postgres, parent_of
from benchmarks.scale.words import facts, queries
from benchmarks.surroundings import data_folder, unread_logs
from tests.support.citus import Cluster
from tests.support.live import KEY, live_server
from tests.support.workers import own_database, worker

_ENGINES = "/v1beta1/projects/default/locations/local/reasoningEngines"
_MEMORIES = f"{_ENGINES}/1/memories"
_MORE_ENGINES = 19
_SMALL, _BATCH, _BLOCK = 10, 500, 25
_WARM_BLOCKS = 2
_TIMEOUT_SECONDS = 300
_POLL_SECONDS = 0.02
_SHARDS = 128
_OPTIONS: dict[str, Any] = {
    "log_level": "ERROR",
    "key_rate_units_per_second": "0",
    "engine_rate_units_per_second": "0",
}
_QUERIES = queries(2_000, 5)
_WAITS = "select 'off' not in (current_setting('fsync'), current_setting('synchronous_commit'))"


@dataclass(frozen=True)
class _Asked:
    """A request that is sent again and again."""

    method: str
    path: str
    body: str = ""


def _search(scope: str, ranking: str = "hybrid") -> _Asked:
    search = {"searchQuery": COUNTED, "topK": 3}
    body = {"scope": {"user_id": scope}, "similaritySearchParams": search, "ranking": ranking}
    return _Asked("POST", f"{_MEMORIES}:retrieve", json.dumps(body))


def _routes(large: int) -> dict[str, _Asked]:
    created = {"fact": COUNTED, "scope": {"user_id": "written"}}
    return {
        "get": _Asked("GET", f"{_MEMORIES}/known"),
        f"search, scope of {_SMALL}": _search("small"),
        f"search, scope of {large:,}": _search("large"),
        "the same by vectors alone": _search("large", "vector"),
        "create": _Asked("POST", _MEMORIES, json.dumps(created)),
        "list of 20": _Asked("GET", f"{_MEMORIES}?pageSize=20"),
        "list of engines": _Asked("GET", _ENGINES),
    }


@dataclass
class _Spent:
    """The blocks of one route: the median of each in milliseconds, and CPU seconds of all."""

    medians: list[float] = field(default_factory=list)
    cpu: float = 0.0

    @property
    def p50(self) -> float:
        return median(self.medians)

    @property
    def request(self) -> float:
        """Milliseconds of CPU a request."""
        return 1_000 * self.cpu / (len(self.medians) * _BLOCK)


class _Service:
    """A `serve` before a database, and the main processes of that database's servers."""

    def __init__(self, name: str, url: str, port: int, servers: Sequence[int]) -> None:
        self.name, self.url = name, url
        self._servers = servers
        self._connection = HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_SECONDS)
        self._numbers = count()

    def cpu(self) -> float:
        """Return the seconds that all processes of the servers have spent."""
        return sum(sum(cpu_of(server)) for server in self._servers)

    def send(self, asked: _Asked) -> Any:  # noqa: ANN401 - any JSON
        """Return the answer, which must be 200."""
        body = asked.body.replace(COUNTED, _QUERIES[next(self._numbers) % len(_QUERIES)])
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        self._connection.request(asked.method, asked.path, body or None, headers)
        answer = self._connection.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise RuntimeError(said.decode())
        return json.loads(said)

    def post(self, path: str, body: Mapping[str, object]) -> Any:  # noqa: ANN401 - any JSON
        return self.send(_Asked("POST", path, json.dumps(body)))

    def block(self, asked: _Asked, spent: _Spent) -> None:
        """Send a block of requests."""
        took, before = [], self.cpu()
        for _ in range(_BLOCK):
            began = time.perf_counter()
            self.send(asked)
            took.append(1_000 * (time.perf_counter() - began))
        spent.medians.append(median(took))
        spent.cpu += self.cpu() - before

    def fill(self, large: int, embedder: EmbedderChoice) -> None:
        """Write a small and a large scope and some engines; make the indexes of the large one."""
        for _ in range(_MORE_ENGINES):
            self.post(_ENGINES, {})
        scopes = ["small"] * _SMALL + ["large"] * large
        memories = [
            {"memory": {"fact": fact, "scope": {"user_id": scope}}}
            for fact, scope in zip(facts(len(scopes), 6), scopes, strict=True)
        ]
        for at in range(0, len(memories), _BATCH):
            self.post(f"{_MEMORIES}:batchCreate", {"requests": memories[at : at + _BATCH]})
        self.post(f"{_MEMORIES}?memoryId=known", {"fact": "I am known.", "scope": {"user_id": "x"}})
        asyncio.run(_index(self.url, embedder))
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("vacuum (analyze)")
        self._rest()

    def idle(self, seconds: float) -> float:
        """Return the milliseconds of CPU a second of the servers while nobody asks."""
        self._rest()
        before, began = self.cpu(), time.monotonic()
        time.sleep(seconds)
        return 1_000 * (self.cpu() - before) / (time.monotonic() - began)

    def _rest(self) -> None:
        """Close the connection, which the service would close before it is used again."""
        self._connection.close()

    def waited(self) -> float:
        """Queue a generation; return the milliseconds until a worker began it."""
        event = {"content": {"role": "user", "parts": [{"text": "I like green tea."}]}}
        body = {"scope": {"user_id": "queued"}, "directContentsSource": {"events": [event]}}
        name = self.post(f"{_MEMORIES}:generate", body)["name"]
        while not (found := self.send(_Asked("GET", f"/v1beta1/{name}"))).get("done"):
            time.sleep(_POLL_SECONDS)
        told = found["metadata"]
        times = (told["genericMetadata"]["createTime"], told["startTime"])
        queued, began = map(datetime.fromisoformat, times)
        return 1_000 * (began - queued).total_seconds()


async def _index(url: str, embedder: EmbedderChoice) -> None:
    async with open_resources(Settings(embedder=embedder), url) as resources:
        await IndexSweep(resources).run()


def _server(url: str) -> int:
    """Return the main process of a server, which must run on this machine."""
    with psycopg.connect(url) as connection:
        own = connection.info.backend_pid
        if Path(f"/proc/{own}").exists() and is_postgres(own):
            return parent_of(own)
    raise SystemExit("The cluster's servers must run on this machine, whose CPU is measured.")


@contextmanager
def _services(options: Mapping[str, Any]) -> Iterator[tuple[_Service, _Service]]:
    """Serve on a plain database and on a distributed one."""
    cluster = Cluster.given()
    with ExitStack() as stack:
        first, second, third = (stack.enter_context(data_folder()) for _ in range(3))
        # Its two parents are opened to others, which must not be those that all share.
        inner = first / "a" / "b"
        inner.mkdir(parents=True)
        plain = stack.enter_context(own_database(inner))
        migrate.upgrade(plain)
        distributed = stack.enter_context(cluster.distributed(shards=_SHARDS))
        with psycopg.connect(distributed) as connection:
            row = connection.execute(_WAITS).fetchone()
        if row == (False,):
            with psycopg.connect(plain, autocommit=True) as connection:
                connection.execute("alter database memory_bank set synchronous_commit = off")
        nodes = [cluster.coordinator, *cluster.workers[:2]]
        servers = {plain: [plain], distributed: [node.within(distributed) for node in nodes]}
        found = []
        for name, folder, url in (("Postgres", second, plain), ("Citus", third, distributed)):
            variables = {f"MEMORY_BANK_{each.upper()}": str(told) for each, told in options.items()}
            served = live_server(folder, MEMORY_BANK_DATABASE_URL=url, **variables)
            port = stack.enter_context(served).port
            found.append(_Service(name, url, port, [_server(each) for each in servers[url]]))
        yield found[0], found[1]


def _compare(services: tuple[_Service, ...], asked: _Asked, blocks: int) -> list[_Spent]:
    """Ask all services in turn; what they do first is not counted."""
    for service in services * _WARM_BLOCKS:
        service.block(asked, _Spent())
    spent = [_Spent() for _ in services]
    for _ in range(blocks):
        for service, own in zip(services, spent, strict=True):
            service.block(asked, own)
    return spent


def _idle(service: _Service, seconds: float, operations: int, options: Mapping[str, Any]) -> None:
    """Print what the servers spend while nobody asks, and how long operations wait."""
    alone = service.idle(seconds)
    with worker(service.url, worker_port=0, **options):
        service.waited()
        both = service.idle(seconds)
        waited = median(service.waited() for _ in range(operations))
    print(
        f"{service.name}, idle: {both:.1f} ms of CPU a second with server and worker, {alone:.1f}"
        f" with a server alone; an operation begins after {waited:.0f} ms"
    )


def _load() -> str:
    return " ".join(f"{load:.2f}" for load in os.getloadavg())


def report(options: argparse.Namespace) -> None:
    """Measure and print all."""
    print(f"embeddings: {options.embedder}; load before {_load()}")
    served = {**_OPTIONS, "embedder": options.embedder}
    with unread_logs(), _services(served) as services:
        for service in services:
            service.fill(options.memories, EmbedderChoice(options.embedder))
        names = [service.name for service in services]
        head = [*(f"p50 {name}" for name in names), "ratio", *(f"CPU {name}" for name in names)]
        print(f"{'milliseconds':<26}" + "".join(f"{word:>14}" for word in head))
        for name, asked in _routes(options.memories).items():
            one, other = _compare(services, asked, options.blocks)
            figures = (one.p50, other.p50, other.p50 / one.p50, one.request, other.request)
            print(f"{name:<26}" + "".join(f"{each:>14.2f}" for each in figures), flush=True)
        for service in services:
            _idle(service, options.idle_seconds, options.operations, served)
    print(f"load after {_load()}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What a cluster costs beside one Postgres.")
    parser.add_argument("--memories", type=int, default=25_000, help="of the large scope")
    parser.add_argument("--blocks", type=int, default=20, help="of 25 requests, for each route")
    parser.add_argument("--embedder", choices=["minilm", "hash"], default="minilm")
    parser.add_argument("--idle-seconds", type=float, default=60)
    parser.add_argument("--operations", type=int, default=25, help="that wait in the queue")
    report(parser.parse_args())
