"""The service before its first message of MCP, with MCP and without; the cost of that message."""

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import NamedTuple

import httpx

from benchmarks.mcp.load import MB
from benchmarks.processes import cpu_seconds
from tests.support.heavy import memory
from tests.support.live import KEY, LiveServer, fresh_server
from tests.support.tools import mcp_message

_SETTLED_SECONDS = 2
_MB_BAR = 2.0
"""An import of MCP takes 18 MB: this is a fraction of it, beyond the noise."""


class _Start(NamedTuple):
    """Seconds until the service answers, CPU seconds and MB once it has settled."""

    seconds: float
    cpu: float
    megabytes: float


class _First(NamedTuple):
    """Milliseconds of the first message and of the second, and the MB that the first adds."""

    milliseconds: float
    again: float
    megabytes: float


def _start(folder: Path, *, has_mcp: bool) -> tuple[_Start, _First | None]:
    began = perf_counter()
    with fresh_server(folder, MEMORY_BANK_EMBEDDER="hash", MEMORY_BANK_MCP=str(has_mcp)) as server:
        seconds = perf_counter() - began
        sleep(_SETTLED_SECONDS)
        start = _Start(seconds, cpu_seconds(server.process.pid), memory(server) / MB)
        return start, _first(server) if has_mcp else None


def _first(server: LiveServer) -> _First:
    headers, body = mcp_message("tools/list")
    headers["Authorization"] = f"Bearer {KEY}"
    took = []
    before = memory(server)
    with httpx.Client(base_url=server.url, headers=headers, timeout=30) as client:
        # The connection and the key are known before either.
        client.get("/v1/self").raise_for_status()
        for _ in range(2):
            began = perf_counter()
            client.post("/mcp", json=body).raise_for_status()
            took.append(1_000 * (perf_counter() - began))
    return _First(took[0], took[1], (memory(server) - before) / MB)


def measure_starts(folder: Path, rounds: int) -> bool:
    """Measure and print the table; return True if the bars are kept.

    Args:
        folder: the data of a service that has been started before.
        rounds: starts of each kind; the two take turns.
    """
    starts: dict[bool, list[_Start]] = {True: [], False: []}
    firsts: list[_First] = []
    for turn in range(rounds):
        for has_mcp in (turn % 2 == 0, turn % 2 == 1):
            start, first = _start(folder, has_mcp=has_mcp)
            starts[has_mcp].append(start)
            if first is not None:
                firsts.append(first)
    print(f"before the first message of MCP, of {rounds} starts of each the least, and the median")
    print("  {:<18}{:>16}{:>16}{:>18}".format("MEMORY_BANK_MCP", "start s", "CPU s", "memory MB"))
    for has_mcp, kind in starts.items():
        cells = (f"{min(row):.2f}, {median(row):.2f}" for row in zip(*kind, strict=True))
        print("  {:<18}{:>16}{:>16}{:>18}".format(str(has_mcp).lower(), *cells))
    more = _Start(
        *(a - b for a, b in zip(_least(starts[True]), _least(starts[False]), strict=True))
    )
    first = _First(*(median(row) for row in zip(*firsts, strict=True)))
    # A part of the import, measured beside it, is a bar whatever else runs on the machine.
    cpu_bar = first.milliseconds / 2_000
    is_kept = more.cpu <= cpu_bar and more.megabytes <= _MB_BAR
    print(
        f"  with MCP {more.seconds:+.2f} s, {more.cpu:+.2f} s of CPU (bar {cpu_bar:.2f}),"
        f" {more.megabytes:+.1f} MB (bar {_MB_BAR}): {'kept' if is_kept else 'MISSED'}"
    )
    print(
        f"  the first message takes {first.milliseconds:,.0f} ms and {first.megabytes:.1f} MB,"
        f" the second {first.again:.0f} ms"
    )
    return is_kept


def _least(starts: list[_Start]) -> Iterator[float]:
    """Return the least of each column: what else runs on the machine can only add to it."""
    return map(min, zip(*starts, strict=True))
