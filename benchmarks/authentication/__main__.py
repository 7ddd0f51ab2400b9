"""What authentication costs: `python -m benchmarks.authentication`.

First, the CPU time that it takes of a request: the same requests go through the application with
it and without it, in rounds that take turns, and the medians of the differences are told. Then,
what bad keys cost others: good requests follow each other on one connection to a live server, with
nobody beside them, and beside 200 bad keys a second that come whether they are answered or not.
"""

import argparse
import asyncio
from collections import defaultdict
from statistics import median
from time import perf_counter

import httpx

from app.process.serving import run
from benchmarks.authentication.client import Connection
from benchmarks.authentication.cpu import measure_cpu
from benchmarks.authentication.flood import KINDS, PER_SECOND, Flooder, flooder
from benchmarks.surroundings import data_folder, unread_logs
from tests.support.live import KEY, LiveServer, live_server

_CPU_BAR = 0.15
_RATIO_BAR = 1.2
_ALONE = "nobody"
_ENGINE = "/v1beta1/projects/default/locations/local/reasoningEngines/1"
_PATH = f"{_ENGINE}/memories/known"


def _measure_cpu(rounds: int) -> None:
    found: dict[str, float] = {}

    async def measure() -> None:
        with data_folder() as folder:
            found.update(await measure_cpu(folder, rounds))

    with unread_logs():
        run(measure)
    print(f"milliseconds of CPU per request, authentication alone (bar {_CPU_BAR}):")
    for title, milliseconds in found.items():
        print(f"  {title:<24}{milliseconds:>8.3f}")


def _remember(server: LiveServer) -> None:
    """Store the memory that good requests ask for."""
    body = {"fact": "I like tea.", "scope": {"user_id": "42"}}
    url = f"{server.url}{_ENGINE}/memories"
    headers = {"Authorization": f"Bearer {KEY}"}
    answer = httpx.post(url, params={"memoryId": "known"}, json=body, headers=headers)
    answer.raise_for_status()


async def _latencies(port: int, seconds: float) -> list[float]:
    """Return the milliseconds of good requests, one after another."""
    connection = await Connection.open(port)
    found = []
    began = last = perf_counter()
    while last - began < seconds:
        if await connection.get(_PATH, KEY) != 200:
            raise RuntimeError("A good request was refused.")
        now = perf_counter()
        found.append((now - last) * 1_000)
        last = now
    connection.close()
    return found


def _round(server: LiveServer, flooding: Flooder, beside: str, seconds: float) -> float:
    if beside == _ALONE:
        return median(asyncio.run(_latencies(server.port, seconds)))
    with flooding.flood(beside):
        return median(asyncio.run(_latencies(server.port, seconds)))


def _measure_flood(rounds: int, seconds: float) -> None:
    medians: dict[str, list[float]] = defaultdict(list)
    with (
        data_folder() as folder,
        live_server(folder, MEMORY_BANK_EMBEDDER="hash") as server,
        flooder(server.port, _PATH) as flooding,
    ):
        _remember(server)
        asyncio.run(_latencies(server.port, seconds))
        for turn in range(rounds):
            order = [_ALONE, *KINDS]
            # Each comes at each place.
            for beside in order[turn % len(order) :] + order[: turn % len(order)]:
                medians[beside].append(_round(server, flooding, beside, seconds))
    print(f"\nmedian milliseconds of good requests beside {PER_SECOND} bad keys a second")
    print(f"  {'beside':<24}{'median':>8}{'ratio':>8}   (bar {_RATIO_BAR})")
    for beside, found in medians.items():
        ratio = median(a / b for a, b in zip(found, medians[_ALONE], strict=True))
        print(f"  {beside:<24}{median(found):>8.2f}{ratio:>8.2f}")


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="What authentication costs, and bad keys.")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of either measurement")
    parser.add_argument("--seconds", type=float, default=2, help="length of one with a server")
    options = parser.parse_args()
    _measure_cpu(options.rounds)
    _measure_flood(options.rounds, options.seconds)


if __name__ == "__main__":
    main()
