"""How long writes wait while shards move: `python -m benchmarks.citus.moves`.

MEMORY_BANK_TEST_CITUS_URL names the cluster. Three writers create memories in three engines through
one `serve`, first with nothing beside them. One engine has many memories. Its shard is moved,
online and with writes blocked, and isolated; that of another is split online; then all shards are
spread over a third worker, if there is one. It fails if a write is refused by other than a 503 that
says when to repeat it, and exits with 1 if one took longer than a second beside what is done
online.

Where nodes do not wait for the disk (`synchronous_commit = off`), a copy is never up to date when
Citus looks, once a second, and writes to what moves wait that long.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

import httpx

from benchmarks.scale.words import facts
from benchmarks.surroundings import data_folder, unread_logs
from tests.support.bank import ok
from tests.support.citus import Cluster, ask
from tests.support.citus_moves import BLOCKING, ISOLATE, ONLINE, REBALANCE, SPLIT, elsewhere, move
from tests.support.citus_writers import Writers
from tests.support.live import KEY, live_server

_SHARDS = 32
_BATCH = 500
_QUIET_SECONDS = 10
_MOST_SECONDS = 1.0
_TIMEOUT_SECONDS = 300
_ENGINES = "/v1beta1/projects/default/locations/local/reasoningEngines"
_OPTIONS = {
    "MEMORY_BANK_EMBEDDER": "hash",
    "MEMORY_BANK_LOG_LEVEL": "ERROR",
    "MEMORY_BANK_KEY_RATE_UNITS_PER_SECOND": "0",
    "MEMORY_BANK_ENGINE_RATE_UNITS_PER_SECOND": "0",
}


@dataclass(frozen=True)
class _Step:
    """What is done beside the writers, and whether writes go on meanwhile."""

    name: str
    do: Callable[[], None]
    is_online: bool = False


def _steps(cluster: Cluster, url: str, engine: int, other: int) -> Sequence[_Step]:
    def moved(mode: str) -> Callable[[], None]:
        return lambda: _ask(url, move(mode), *elsewhere(cluster, url, engine), engine)

    def split() -> None:
        _ask(url, SPLIT, other, *elsewhere(cluster, url, other))

    def spread() -> None:
        cluster.command(url, workers=3).check_returncode()
        for statement in REBALANCE:
            _ask(url, statement)

    steps = [
        _Step("nothing", lambda: time.sleep(_QUIET_SECONDS), is_online=True),
        _Step("a move online", moved(ONLINE), is_online=True),
        _Step("a move back online", moved(ONLINE), is_online=True),
        _Step("a move, writes blocked", moved(BLOCKING)),
        _Step("an isolation, writes blocked", lambda: _ask(url, ISOLATE, engine)),
        _Step("a split online", split, is_online=True),
    ]
    if len(cluster.workers) > 2:
        steps.append(_Step("a rebalance to a third worker", spread, is_online=True))
    return steps


def _ask(url: str, statement: str, *values: object) -> None:
    ask(url, statement, *values)


async def _measure(client: httpx.AsyncClient, engines: Sequence[str], step: _Step) -> bool:
    """Do a step beside writers and print what they met; return True if that is within the bars."""
    writers = Writers(client, engines)
    async with writers.writing():
        began = time.perf_counter()
        await asyncio.to_thread(step.do)
        took = time.perf_counter() - began
    longest = max(writers.seconds)
    refused = writers.statuses[503]
    print(
        f"{step.name:<30}{took:>9.1f}{len(writers.seconds):>9,}"
        f"{1_000 * median(writers.seconds):>12.1f}{1_000 * longest:>12.0f}{refused:>7}",
        flush=True,
    )
    return longest <= _MOST_SECONDS or not step.is_online


async def _fill(client: httpx.AsyncClient, engine: str, count: int) -> None:
    memories = [
        {"memory": {"fact": fact, "scope": {"user_id": str(n % 50)}}}
        for n, fact in enumerate(facts(count, 6))
    ]
    for at in range(0, count, _BATCH):
        body = {"requests": memories[at : at + _BATCH]}
        ok(await client.post(f"{engine}/memories:batchCreate", json=body))


async def _run(cluster: Cluster, url: str, server: str, memories: int) -> bool:
    headers = {"Authorization": f"Bearer {KEY}"}
    timeout = _TIMEOUT_SECONDS
    async with httpx.AsyncClient(base_url=server, headers=headers, timeout=timeout) as client:
        for _ in range(2):
            ok(await client.post(_ENGINES, json={}))
        listed = ok(await client.get(_ENGINES))["reasoningEngines"]
        engines = [f"/v1beta1/{engine['name']}" for engine in listed]
        await _fill(client, engines[0], memories)
        engine, other, *_ = (int(path.rpartition("/")[2]) for path in engines)
        heads = f"{'seconds':>9}{'writes':>9}{'median ms':>12}{'longest ms':>12}{'503':>7}"
        print(f"{'beside':<30}{heads}")
        kept = [
            await _measure(client, engines, step) for step in _steps(cluster, url, engine, other)
        ]
    return all(kept)


def report(memories: int) -> bool:
    """Measure and print all; return True if writes go on beside online moves."""
    cluster = Cluster.given()
    with unread_logs(), ExitStack() as stack:
        folder = stack.enter_context(data_folder())
        url = stack.enter_context(cluster.distributed(shards=_SHARDS))
        server = stack.enter_context(live_server(folder, MEMORY_BANK_DATABASE_URL=url, **_OPTIONS))
        return asyncio.run(_run(cluster, url, server.url, memories))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="How long writes wait while shards move.")
    parser.add_argument("--memories", type=int, default=20_000, help="of the engine that moves")
    sys.exit(0 if report(parser.parse_args().memories) else 1)
