"""Many clients of MCP at once: errors, latencies, and the memory that the service takes."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any

import httpx

from tests.support.heavy import memory, p99
from tests.support.live import KEY, LiveServer
from tests.support.tools import mcp_message

MB = 10**6
_MORE_MB_BAR = 30
_TIMEOUT_SECONDS = 60
_TOLD_CHARS = 80
_TOOLS = ("search_memories", "list_memories", "remember")


@dataclass
class _Tally:
    """Seconds of the calls by tool, kinds of errors, and facts that were not stored in time."""

    took: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)
    under_way: int = 0


def _arguments(tool: str, client: int, turn: int) -> dict[str, Any]:
    match tool:
        case "search_memories":
            return {"query": f"Where is parcel {turn}?"}
        case "remember":
            return {"facts": [f"I keep parcel {turn} on shelf {client}."]}
        case _:
            return {}


def _error(answer: httpx.Response) -> str | None:
    """Return what is wrong with an answer; None: it is the result of a tool."""
    if answer.status_code != 200:
        return f"HTTP {answer.status_code}"
    told: Mapping[str, Any] = answer.json()
    if "error" in told:
        return str(told["error"]["message"])[:_TOLD_CHARS]
    if told["result"]["isError"]:
        return str(told["result"]["content"][0]["text"])[:_TOLD_CHARS]
    return None


async def _call(http: httpx.AsyncClient, tool: str, client: int, turn: int, tally: _Tally) -> None:
    params = {"name": tool, "arguments": _arguments(tool, client, turn)}
    headers, body = mcp_message("tools/call", params)
    began = perf_counter()
    try:
        answer = await http.post(f"/mcp?scope.user_id={client}", json=body, headers=headers)
        error = _error(answer)
    except httpx.HTTPError as failure:
        error = type(failure).__name__
    else:
        tally.took[tool].append(perf_counter() - began)
        if error is None:
            tally.under_way += answer.json()["result"]["structuredContent"].get("done") is False
    if error is not None:
        tally.errors[f"{tool}: {error}"] += 1


async def _run(server: LiveServer, clients: int, seconds: float, first: int) -> tuple[_Tally, int]:
    """Have all clients call tools for so long; return the tally, and the most bytes of the service.

    Args:
        server: that is called.
        clients: how many, each with a scope of its own and one call at a time.
        seconds: how long new calls begin.
        first: the number of each client's first turn, since no fact should be remembered twice.
    """
    tally = _Tally()
    ends = perf_counter() + seconds
    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)

    async def client(number: int, http: httpx.AsyncClient) -> None:
        turn = first
        while perf_counter() < ends:
            await _call(http, _TOOLS[(number + turn) % len(_TOOLS)], number, turn, tally)
            turn += 1

    async with httpx.AsyncClient(
        base_url=server.url,
        headers={"Authorization": f"Bearer {KEY}"},
        limits=limits,
        timeout=_TIMEOUT_SECONDS,
    ) as http:
        calling = [asyncio.create_task(client(number, http)) for number in range(clients)]
        most = memory(server)
        while not all(task.done() for task in calling):
            await asyncio.sleep(1)
            most = max(most, memory(server))
        await asyncio.gather(*calling)
    return tally, most


def measure_load(server: LiveServer, clients: int, seconds: float, warm_up: float) -> bool:
    """Measure and print the table; return True if the bars are kept."""
    warm, _ = asyncio.run(_run(server, clients, warm_up, first=0))
    before = memory(server)
    tally, most = asyncio.run(_run(server, clients, seconds, first=10**6))
    errors = warm.errors + tally.errors
    print(f"{clients} clients for {seconds:.0f} s, after {warm_up:.0f} s of the same")
    print("  {:<18}{:>8}{:>12}{:>9}{:>9}".format("tool", "calls", "per second", "p50 ms", "p99 ms"))
    for tool, took in sorted(tally.took.items()):
        rate, p50, late = len(took) / seconds, 1_000 * median(took), 1_000 * p99(sorted(took))
        print(f"  {tool:<18}{len(took):>8,}{rate:>12.1f}{p50:>9.0f}{late:>9.0f}")
    for error, count in errors.most_common():
        print(f"  {count} times {error}")
    more = (most - before) / MB
    is_kept = not errors and more <= _MORE_MB_BAR
    print(
        f"  errors {errors.total()} (bar 0), not stored in time {tally.under_way};"
        f" memory of the service {before / MB:.0f} MB, at most {more:.1f} MB more"
        f" (bar {_MORE_MB_BAR}): {'kept' if is_kept else 'MISSED'}"
    )
    return is_kept
