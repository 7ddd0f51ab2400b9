"""Long pages: `python -m benchmarks.long_answers`. Linux only.

A bank has 970 memories with all the metadata that is allowed. Ten readers with one key, which is
bound to a scope, page through all of them, twice. Meanwhile `/healthz` and a GET of an
administrator are asked for again and again. The readers are a process of their own.

It prints the longest of these answers, before and then, and the memory of the service; it exits
with 1 if a goal is missed. The longest answer is a goal only on a machine with nothing else to do.
"""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import NamedTuple

import httpx
from typing_extensions import override

from benchmarks.long_answers.readers import MEMORIES, TIMEOUT_SECONDS, read_all
from benchmarks.memory.rollup import memory_of
from benchmarks.surroundings import data_folder
from tests.support.live import KEY, LiveServer, fresh_server

_SCOPE = {"user_id": "42"}
_BATCH = 20
_ENTRIES = 50
_CHARS = 4096
_PAUSE_SECONDS = 0.02
_SETTLED_SECONDS = 10.0
_LONGEST_BAR = 0.5
_GROWTH_BAR = 300.0
_LEFT_BAR = 100.0
_NOISE = 10.0
"""Mebibytes by which two measurements of the same differ."""


class _Watched(NamedTuple):
    """The longest answers, in seconds, and the most memory."""

    healthz: float
    get: float
    usual_get: float
    most: float

    @override
    def __str__(self) -> str:
        return (
            f"/healthz {self.healthz:.3f} s, GET {self.get:.3f} s at most"
            f" (median {self.usual_get:.3f}); {self.most:.0f} MiB at most"
        )


def _fill(client: httpx.Client, memories: int) -> None:
    metadata = {f"key{n}": {"stringValue": "x" * _CHARS} for n in range(_ENTRIES)}
    for first in range(0, memories, _BATCH):
        requests = [
            {"memory": {"scope": _SCOPE, "fact": f"Fact {number}.", "metadata": metadata}}
            for number in range(first, min(first + _BATCH, memories))
        ]
        client.post(f"{MEMORIES}:batchCreate", json={"requests": requests}).raise_for_status()


def _watch(server: LiveServer, admin: httpx.Client, is_over: Callable[[], bool]) -> _Watched:
    """Ask for both again and again; return the longest answers and the most memory."""
    healthz, get, most = [0.0], [0.0], 0.0
    while not is_over():
        for path, seconds in (("/healthz", healthz), (f"{MEMORIES}/known", get)):
            began = time.perf_counter()
            admin.get(path).raise_for_status()
            seconds.append(time.perf_counter() - began)
        most = max(most, memory_of(server.process.pid).resident)
        time.sleep(_PAUSE_SECONDS)
    return _Watched(max(healthz), max(get), median(get), most)


@contextmanager
def _served() -> Iterator[tuple[LiveServer, httpx.Client]]:
    rates = {"KEY_RATE_UNITS_PER_SECOND": "0", "ENGINE_RATE_UNITS_PER_SECOND": "0"}
    settings = {"EMBEDDER": "hash", "LOG_LEVEL": "ERROR", **rates}
    named = {f"MEMORY_BANK_{name}": value for name, value in settings.items()}
    headers = {"Authorization": f"Bearer {KEY}"}
    with (
        data_folder() as folder,
        fresh_server(folder, **named) as server,
        httpx.Client(base_url=server.url, headers=headers, timeout=TIMEOUT_SECONDS) as admin,
    ):
        yield server, admin


def _measure(memories: int, readers: int) -> bool:
    with _served() as (server, admin), multiprocessing.get_context("spawn").Pool(1) as pool:
        known = {"fact": "Known.", "scope": {"user_id": "other"}}
        admin.post(MEMORIES, params={"memoryId": "known"}, json=known).raise_for_status()
        body = {"displayName": "reader", "roles": ["viewer"]}
        bound = {"scopeConditions": {"user_id": [_SCOPE["user_id"]]}}
        secret = admin.post("/v1/keys", json=body | bound).raise_for_status().json()["secret"]
        _fill(admin, memories)
        time.sleep(_SETTLED_SECONDS)
        start = memory_of(server.process.pid).resident
        print(f"{memories} memories; at the start {start:.0f} MiB", flush=True)
        until = time.monotonic() + _SETTLED_SECONDS
        print(f"alone: {_watch(server, admin, lambda: time.monotonic() > until)}", flush=True)
        rounds, left = [], []
        for number in (1, 2):
            reading = pool.apply_async(read_all, (server.url, secret, readers))
            rounds.append(_watch(server, admin, reading.ready))
            time.sleep(_SETTLED_SECONDS)
            left.append(memory_of(server.process.pid).resident)
            answers = dict(sorted(reading.get().items()))
            print(f"round {number}: {rounds[-1]}, {left[-1]:.0f} afterwards; {answers}", flush=True)
            if answers["memories"] != memories * readers:
                raise RuntimeError("A reader did not get each memory once.")
    goals = {
        f"/healthz and a GET within {_LONGEST_BAR} s": (
            max(max(one.healthz, one.get) for one in rounds) <= _LONGEST_BAR
        ),
        f"growth below {_GROWTH_BAR:.0f} MiB": (
            max(one.most for one in rounds) - start < _GROWTH_BAR
        ),
        f"within {_LEFT_BAR:.0f} MiB of the start after {_SETTLED_SECONDS:.0f} s": (
            max(left) - start <= _LEFT_BAR
        ),
        "a second round ends no higher": left[1] <= left[0] + _NOISE,
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
