"""Long pages: `python -m benchmarks.answers`. Linux only.

A bank has 970 memories with all the metadata that is allowed. Ten readers with one key, which is
bound to a scope, page through all of them, twice. Meanwhile `/healthz` and a GET of an administrator
are asked for again and again. The readers are a process of their own, as they would be elsewhere.

It prints the longest of these answers and the memory of the service, and exits with 1 if a goal is
missed.
"""

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.pool import AsyncResult

import httpx

from benchmarks.memory.rollup import memory_of
from benchmarks.surroundings import data_folder
from tests.support.live import KEY, LiveServer, fresh_server

_ENGINE = "/v1/reasoningEngines/1"
_MEMORIES = f"{_ENGINE}/memories"
_SCOPE = {"user_id": "42"}
_BATCH = 20
_ENTRIES = 50
_CHARS = 4096
_TIMEOUT_SECONDS = 120
_PAUSE_SECONDS = 0.02
_SETTLED_SECONDS = 10.0
_LONGEST_BAR = 0.5
_GROWTH_BAR = 300.0
_LEFT_BAR = 100.0
_NOISE = 10.0
"""Mebibytes by which two measurements of the same differ."""


@dataclass(frozen=True)
class _Round:
    """The longest answers while others read, in seconds, and the memory then and afterwards."""

    healthz: float
    get: float
    most: float
    left: float


def _fill(client: httpx.Client, memories: int) -> None:
    metadata = {f"key{n}": {"stringValue": "x" * _CHARS} for n in range(_ENTRIES)}
    for first in range(0, memories, _BATCH):
        requests = [
            {"memory": {"scope": _SCOPE, "fact": f"Fact {number}.", "metadata": metadata}}
            for number in range(first, min(first + _BATCH, memories))
        ]
        client.post(f"{_MEMORIES}:batchCreate", json={"requests": requests}).raise_for_status()


def _read(url: str, secret: str, readers: int) -> Counter[str]:
    """Read the whole list as often as there are readers, at once; return what was answered."""
    with ThreadPoolExecutor(readers) as pool:
        return sum(pool.map(lambda _: _page_through(url, secret), range(readers)), Counter())


def _page_through(url: str, secret: str) -> Counter[str]:
    found: Counter[str] = Counter()
    token: str | None = ""
    headers = {"Authorization": f"Bearer {secret}"}
    with httpx.Client(base_url=url, headers=headers, timeout=_TIMEOUT_SECONDS) as client:
        while token is not None:
            params = {"pageSize": "970", **({"pageToken": token} if token else {})}
            answer = client.get(_MEMORIES, params=params)
            found[str(answer.status_code)] += 1
            if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
                time.sleep(float(answer.headers["Retry-After"]))
                continue
            page = answer.raise_for_status().json()
            found["memories"] += len(page["memories"])
            token = page.get("nextPageToken")
    return found


def _watch(server: LiveServer, admin: httpx.Client, reading: "AsyncResult[object]") -> _Round:
    """Ask while others read; then wait, and see what is left."""
    longest = {"/healthz": 0.0, f"{_MEMORIES}/known": 0.0}
    most = 0.0
    while not reading.ready():
        for path in longest:
            began = time.perf_counter()
            admin.get(path).raise_for_status()
            longest[path] = max(longest[path], time.perf_counter() - began)
        most = max(most, memory_of(server.process.pid).resident)
        time.sleep(_PAUSE_SECONDS)
    time.sleep(_SETTLED_SECONDS)
    return _Round(*longest.values(), most, memory_of(server.process.pid).resident)


@contextmanager
def _served() -> Iterator[tuple[LiveServer, httpx.Client]]:
    rates = {"KEY_RATE_UNITS_PER_SECOND": "0", "ENGINE_RATE_UNITS_PER_SECOND": "0"}
    settings = {"EMBEDDER": "hash", "LOG_LEVEL": "ERROR", **rates}
    named = {f"MEMORY_BANK_{name}": value for name, value in settings.items()}
    headers = {"Authorization": f"Bearer {KEY}"}
    with (
        data_folder() as folder,
        fresh_server(folder, **named) as server,
        httpx.Client(base_url=server.url, headers=headers, timeout=_TIMEOUT_SECONDS) as admin,
    ):
        yield server, admin


def _measure(memories: int, readers: int) -> bool:
    with _served() as (server, admin), multiprocessing.get_context("spawn").Pool(1) as pool:
        known = {"fact": "Known.", "scope": {"user_id": "other"}}
        admin.post(_MEMORIES, params={"memoryId": "known"}, json=known).raise_for_status()
        body = {"displayName": "reader", "roles": ["viewer"]}
        bound = {"scopeConditions": {"user_id": [_SCOPE["user_id"]]}}
        secret = admin.post("/v1/keys", json=body | bound).raise_for_status().json()["secret"]
        _fill(admin, memories)
        time.sleep(_SETTLED_SECONDS)
        start = memory_of(server.process.pid).resident
        print(f"{memories} memories; at the start {start:.0f} MiB", flush=True)
        rounds = []
        for number in (1, 2):
            reading = pool.apply_async(_read, (server.url, secret, readers))
            found = _watch(server, admin, reading)
            rounds.append(found)
            print(
                f"round {number}: /healthz {found.healthz:.3f} s, GET {found.get:.3f} s at most;"
                f" {found.most:.0f} MiB at most, {found.left:.0f} afterwards;"
                f" {dict(sorted(reading.get().items()))}",
                flush=True,
            )
            if reading.get()["memories"] != memories * readers:
                raise RuntimeError("A reader did not get each memory once.")
    goals = {
        f"/healthz and a GET within {_LONGEST_BAR} s": (
            max(max(one.healthz, one.get) for one in rounds) <= _LONGEST_BAR
        ),
        f"growth below {_GROWTH_BAR:.0f} MiB": (
            max(one.most for one in rounds) - start < _GROWTH_BAR
        ),
        f"within {_LEFT_BAR:.0f} MiB of the start after {_SETTLED_SECONDS:.0f} s": (
            max(one.left for one in rounds) - start <= _LEFT_BAR
        ),
        "a second round ends no higher": rounds[1].left <= rounds[0].left + _NOISE,
    }
    for goal, is_kept in goals.items():
        print(f"{goal}: {'kept' if is_kept else 'MISSED'}")
    return all(goals.values())


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="What readers of long pages cost others.")
    parser.add_argument("--memories", type=int, default=970)
    parser.add_argument("--readers", type=int, default=10)
    given = parser.parse_args()
    sys.exit(0 if _measure(given.memories, given.readers) else 1)


if __name__ == "__main__":
    main()
