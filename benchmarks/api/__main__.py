"""How fast the service answers: `python -m benchmarks.api`.

For each of get, create, retrieve by scope (the 3 memories that it has) and search (the best 3 of a
scope of a hundred), three routes of one process take turns, at 16 connections: a trivial route, a
bare one that sends the same statements over a pool of the driver and does nothing else, and the
service's own. All three stand behind the same connections, middlewares and authentication. The
client is a process of its own on the same machine, the database an embedded one, and the embedder
hashes, so that the service is measured and no model.

Then what a key that is bound to users and a request id add to the CPU of a request: the ways take
turns in one process, and the ratios within a round count.

Then, with MiniLM, searches that are all different: what they cost the service, beside what it costs
to embed the same number of such texts and do nothing else. Last, what several processes answer
together: see `benchmarks.api.processes`.
"""

import argparse
import asyncio
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from statistics import median
from time import process_time, sleep
from urllib.parse import quote

import httpx

from app.adapters.llm.providers.embed_minilm import MiniLmEmbedder
from app.settings.settings import EmbedderChoice
from benchmarks.api import processes
from benchmarks.api.load import COUNTED, Asked, Loader, loader
from benchmarks.api.server import ENGINE, KEY, bound_key, client_of, serving
from benchmarks.processes import cpu_of

_MEMORIES = f"{ENGINE}/memories"
_SCOPE = {"user_id": "42"}
_CONNECTIONS = 16
_BARE_BAR = 0.6
_BEYOND_BAR = 3.0
_EMBEDDED = 300
_FEW = {"user_id": "few"}
_BARS = {"get": 0.20, "create": 0.10, "retrieve by scope": 0.15, "search": 0.15}
_ROUTES: dict[str, Asked] = {
    "get": Asked("GET", f"{_MEMORIES}/known"),
    "create": Asked(
        "POST",
        _MEMORIES,
        {"fact": "I like green tea in the morning.", "scope": {"user_id": "written"}},
    ),
    "retrieve by scope": Asked(
        "POST",
        f"{_MEMORIES}:retrieve",
        {"scope": _FEW, "simpleRetrievalParams": {"pageSize": 3}},
    ),
    "search": Asked(
        "POST",
        f"{_MEMORIES}:retrieve",
        {
            "scope": _SCOPE,
            "similaritySearchParams": {"searchQuery": "Which tea do I like?", "topK": 3},
        },
    ),
}
_ONCE = {"Idempotency-Key": f"benchmark-{COUNTED}"}
_ADDED = {
    ("create", "bound key"): 1.1,
    ("create", "request id"): 1.25,
    ("create", "bound key, request id"): 1.25,
    ("search", "bound key"): 1.1,
}
"""By route and way, the bar of its CPU, as a multiple of an unbound key's without a request id."""
_FACTS = (
    "I like {} tea in the morning.",
    "My sister Anna moved to {} in 2021.",
    "We watched a film about {} last Friday.",
    "Work on the {} project is due in March.",
)


@dataclass(frozen=True)
class Figure:
    """Of one route in one round: requests a second, and milliseconds of CPU for each."""

    per_second: float
    service: float
    database: float


def _fill(client: httpx.Client) -> None:
    """Write a scope of a hundred memories, and one of three."""
    for number in range(100):
        fact = _FACTS[number % len(_FACTS)].format(f"topic{number}")
        params = {"memoryId": "known"} if number == 0 else {}
        body = {"fact": fact, "scope": _SCOPE}
        client.post(_MEMORIES, params=params, json=body).raise_for_status()
    for fact in _FACTS[:3]:
        client.post(_MEMORIES, json={"fact": fact, "scope": _FEW}).raise_for_status()


def _record(client: httpx.Client, name: str, asked: Asked) -> None:
    """Let the bare route learn the statements, of a request whose process has seen it before."""
    for _ in range(10):
        client.request(asked.method, asked.path, json=asked.body).raise_for_status()
    sleep(1.1)
    client.get(f"/v1/record/{quote(name)}").raise_for_status()
    client.request(asked.method, asked.path, json=asked.body).raise_for_status()
    sleep(1.1)


def _measure(loading: Loader, pid: int, asked: Asked, seconds: float) -> Figure:
    before = cpu_of(pid)
    count, took = loading.per_second(asked, _CONNECTIONS, seconds)
    after = cpu_of(pid)
    service, database = (1_000 * (b - a) / count for a, b in zip(before, after, strict=True))
    return Figure(count / took, service, database)


def _rounds(
    loading: Loader, pid: int, rounds: int, seconds: float
) -> dict[tuple[str, str], list[Figure]]:
    found: dict[tuple[str, str], list[Figure]] = defaultdict(list)
    for turn in range(rounds):
        for name, asked in _ROUTES.items():
            routes = {
                "trivial": Asked("GET", "/v1/trivial"),
                "bare": Asked(asked.method, f"/v1/bare/{quote(name)}", asked.body),
                "ours": asked,
            }
            order = list(routes)
            # Each comes at each place.
            for kind in order[turn % 3 :] + order[: turn % 3]:
                found[name, kind].append(_measure(loading, pid, routes[kind], seconds))
    return found


def _print(found: dict[tuple[str, str], list[Figure]]) -> None:
    head = ("route", "kind", "per second", "CPU ms service", "CPU ms database", "ours/it", "bar")
    print(("{:<18}{:<9}" + "{:>17}" * 5).format(*head))
    for (name, kind), figures in found.items():
        ours = found[name, "ours"]
        ratio = median(a.per_second / b.per_second for a, b in zip(ours, figures, strict=True))
        bar = {"trivial": f">= {_BARS[name]:.2f}", "bare": f">= {_BARE_BAR:.2f}"}.get(kind, "")
        per_second = median(one.per_second for one in figures)
        service = median(one.service for one in figures)
        database = median(one.database for one in figures)
        print(
            f"{name:<18}{kind:<9}{per_second:>17.0f}{service:>17.2f}{database:>17.2f}"
            f"{ratio:>17.2f}{bar:>17}"
        )


def _measure_keys(rounds: int, seconds: float) -> bool:
    """Print what bound keys and request ids add; return True if no bar is missed."""
    with serving(EmbedderChoice.HASH) as (port, pid):
        with client_of(port) as client:
            _fill(client)
            bound = bound_key(client, [_SCOPE["user_id"], "written"])
        found: dict[tuple[str, str], list[float]] = defaultdict(list)
        with loader(port, KEY) as unbound, loader(port, bound) as loading:
            ways: dict[tuple[str, str], tuple[Loader, Asked]] = {
                (route, "plain"): (unbound, _ROUTES[route]) for route in ("create", "search")
            }
            for route, way in _ADDED:
                headers = _ONCE if "request id" in way else {}
                asking = loading if "bound key" in way else unbound
                ways[route, way] = asking, replace(_ROUTES[route], headers=headers)
            for turn in range(rounds):
                order = list(ways)
                for key in order[turn % len(order) :] + order[: turn % len(order)]:
                    by, asked = ways[key]
                    found[key].append(_measure(by, pid, asked, seconds).service)
    print("\nmilliseconds of CPU of the service, by key and request id")
    are_met = True
    for (route, way), bar in _ADDED.items():
        plain = found[route, "plain"]
        ratio = median(a / b for a, b in zip(found[route, way], plain, strict=True))
        are_met &= ratio <= bar
        print(
            f"  {route:<8}{way:<24}{median(found[route, way]):>6.2f}, plain {median(plain):.2f}",
            end="",
        )
        print(f": {ratio:.2f} (bar {bar})")
    return are_met


def _measure_minilm(rounds: int, seconds: float) -> None:
    asked = _ROUTES["search"]
    query = {"searchQuery": f"Which tea do I like, number {COUNTED}?", "topK": 3}
    different = Asked("POST", asked.path, {"scope": _SCOPE, "similaritySearchParams": query})
    with serving(EmbedderChoice.MINILM) as (port, pid), loader(port, KEY) as loading:
        with client_of(port) as client:
            _fill(client)
        figures, alone = [], []
        for turn in range(rounds):
            figures.append(_measure(loading, pid, different, seconds).service)
            alone.append(asyncio.run(_embedding(f"round {turn}")))
    whole, embedding = median(figures), median(alone)
    print("\nmilliseconds of CPU of the service for a search, with MiniLM, no query twice")
    print(
        f"  {whole:.2f}, of which embedding {embedding:.2f}: {whole - embedding:.2f} more", end=""
    )
    print(f" (bar {_BEYOND_BAR})")


async def _embedding(mark: str) -> float:
    """Return the milliseconds of CPU that it takes to embed a query."""
    embedder = MiniLmEmbedder(threads=2)
    await embedder.warm()
    texts = [f"Which tea do I like, number {n:08d} of {mark}?" for n in range(_EMBEDDED)]
    began = process_time()
    for text in texts:
        await embedder.embed([text])
    spent = process_time() - began
    await embedder.close()
    return 1_000 * spent / len(texts)


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="How fast the service answers.")
    parser.add_argument("--rounds", type=int, default=6, help="rounds of all twelve routes")
    parser.add_argument("--seconds", type=float, default=3, help="length of one route's turn")
    options = parser.parse_args()
    with serving(EmbedderChoice.HASH) as (port, pid), loader(port, KEY) as loading:
        with client_of(port) as client:
            _fill(client)
            for name, asked in _ROUTES.items():
                _record(client, name, asked)
        _print(_rounds(loading, pid, options.rounds, options.seconds))
    are_met = _measure_keys(options.rounds, options.seconds)
    _measure_minilm(options.rounds, options.seconds)
    seconds = ["--seconds", str(options.seconds)]
    print("\nby processes of `serve`")
    processes.report(processes.parsed(seconds))
    print("\nby processes of `serve`, with MiniLM")
    processes.report(processes.parsed([*seconds, "--embedder", "minilm", "--routes", "search"]))
    sys.exit(not are_met)


if __name__ == "__main__":
    main()
