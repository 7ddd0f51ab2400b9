"""Memory of processes that serve, and their start; each on the same migrated database.

Resident counts what processes share in each of them; the proportional share splits it among them.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from app.adapters.db import migrate
from app.adapters.postgres.embedded import EmbeddedPostgres
from app.settings.settings import Settings
from benchmarks.memory.rollup import Memory, memory_of
from benchmarks.processes import below, cpu_seconds
from benchmarks.surroundings import data_folder, unread_logs
from tests.support.live import KEY, LiveServer, fresh_server

_ENGINE = "/v1/reasoningEngines/1"
_BATCH = 500
_SCOPES = 50
_SETTLED_SECONDS = 2.0
_START_BAR = 3.0
_RESIDENT_BAR = 170.0
_WITH_MODEL_BAR = 230.0
_WORKED_BAR = 215.0
_SHARE_BAR = 150.0
_WORDS = Path(__file__).parents[2] / "docs"
_WORDS_OF_A_TEXT = 14


@dataclass(frozen=True)
class Asked:
    """How much is measured.

    Attributes:
        searches: of each process.
        memories: that are imported through each process.
        processes: that serve one database at the same time.
    """

    searches: int
    memories: int
    processes: int


class _Texts:
    """Texts of a large vocabulary, as of many users."""

    def __init__(self) -> None:
        pages = sorted(_WORDS.rglob("*.md"))
        self._words = " ".join(page.read_text() for page in pages).split()

    def text(self, number: int) -> str:
        """Return a text, another one for each number up to the words there are."""
        start = (7 * number) % (len(self._words) - _WORDS_OF_A_TEXT)
        return " ".join(self._words[start : start + _WORDS_OF_A_TEXT])


def measure(asked: Asked) -> bool:
    """Measure and print; return True if the goals are met."""
    with data_folder() as folder:
        settings = Settings(data_dir=folder, log_level="ERROR")
        with unread_logs(settings), EmbeddedPostgres(settings) as postgres:
            migrate.upgrade(postgres.url)
            # The first start compiles modules and makes keys.
            with _served(folder, postgres.url, 1):
                pass
            has_started = _measure_start(folder, postgres.url)
            with_model = _measure_with_model(folder, postgres.url)
            one = _measure_work(folder, postgres.url, asked, 1)
            several = _measure_work(folder, postgres.url, asked, asked.processes)
    kept = {
        f"one process resident at most {_RESIDENT_BAR:.0f} MiB after its start": (
            one[0][0].resident <= _RESIDENT_BAR
        ),
        f"each of {asked.processes} proportional at most {_SHARE_BAR:.0f} MiB": max(
            memory.proportional for step in several for memory in step
        )
        <= _SHARE_BAR,
        f"one at most {_WORKED_BAR:.0f} MiB after its work": one[-1][0].resident <= _WORKED_BAR,
        f"one with a model at most {_WITH_MODEL_BAR:.0f} MiB after its start": (
            with_model <= _WITH_MODEL_BAR
        ),
        f"ready and searching within {_START_BAR:.0f} s": has_started,
    }
    print()
    for goal, is_kept in kept.items():
        print(f"{goal}: {'kept' if is_kept else 'MISSED'}")
    return all(kept.values())


@contextmanager
def _served(folder: Path, url: str, processes: int, **more: str) -> Iterator[LiveServer]:
    """Serve a database by as many processes of one port; `more` are settings."""
    settings = {"DATABASE_URL": url, "LOG_LEVEL": "ERROR", "PROCESSES": str(processes), **more}
    with fresh_server(
        folder, **{f"MEMORY_BANK_{name}": settings[name] for name in settings}
    ) as server:
        yield server


def _pids(server: LiveServer) -> list[int]:
    """Return the processes that serve: the server, or those below its supervisor."""
    return below(server.process.pid) or [server.process.pid]


def _client(server: LiveServer) -> httpx.Client:
    headers = {"Authorization": f"Bearer {KEY}"}
    return httpx.Client(base_url=f"{server.url}{_ENGINE}", headers=headers, timeout=120)


def _search(client: httpx.Client, number: int, text: str) -> None:
    search = {"searchQuery": text, "topK": 3}
    body = {"scope": {"user_id": str(number % _SCOPES)}, "similaritySearchParams": search}
    client.post("/memories:retrieve", json=body).raise_for_status()


def _measure_start(folder: Path, url: str) -> bool:
    """Print how long a start takes until it is ready, and until it has searched."""
    began = time.perf_counter()
    with _served(folder, url, 1) as server, _client(server) as client:
        ready = time.perf_counter() - began
        _search(client, 1, "Which tea does she like?")
        searched = time.perf_counter() - began
        cpu = cpu_seconds(server.process.pid)
    print(
        f"\na start: ready after {ready:.2f} s, the first search answered after {searched:.2f} s;"
        f" {cpu:.2f} s of CPU"
    )
    return searched <= _START_BAR


def _measure_with_model(folder: Path, url: str) -> float:
    """Print the resident memory, in MiB, after a start with a model; return it."""
    model = {"MODEL": "openai:gpt-5-mini", "MODEL_KEY": "never-sent"}
    with _served(folder, url, 1, **model) as server:
        time.sleep(_SETTLED_SECONDS)
        memory = memory_of(_pids(server)[0])
    print(f"a start with a model: {memory.resident:.0f} MiB resident")
    return memory.resident


def _measure_work(folder: Path, url: str, asked: Asked, processes: int) -> list[list[Memory]]:
    """Print the memory of processes after their start, searches and an import; return it."""
    texts, steps = _Texts(), []
    print(f"\n{processes} serving{'resident':>31}{'proportional':>14}{'anonymous':>11}")
    with _served(folder, url, processes) as server, ExitStack() as stack:
        # Each process takes its share of the connections.
        clients = [stack.enter_context(_client(server)) for _ in range(processes)]
        time.sleep(_SETTLED_SECONDS)
        steps.append(_say("start", server))
        for number in range(asked.searches):
            for client in clients:
                _search(client, number, texts.text(number))
        steps.append(_say(f"{asked.searches:,} searches each", server))
        for first in range(0, asked.memories, _BATCH):
            for client in clients:
                _create(client, texts, range(first, min(first + _BATCH, asked.memories)))
        steps.append(_say(f"an import of {asked.memories:,} each", server))
    return steps


def _create(client: httpx.Client, texts: _Texts, numbers: range) -> None:
    requests = [
        {
            "memory": {
                "scope": {"user_id": str(number % _SCOPES)},
                "fact": f"{texts.text(number)} {number}",
            }
        }
        for number in numbers
    ]
    client.post("/memories:batchCreate", json={"requests": requests}).raise_for_status()


def _say(after: str, server: LiveServer) -> list[Memory]:
    memories = [memory_of(pid) for pid in _pids(server)]
    most = max(memories, key=lambda memory: memory.resident)
    print(
        f"{after:32}{most.resident:8.0f}{most.proportional:14.0f}{most.anonymous:11.0f}",
        flush=True,
    )
    return memories
