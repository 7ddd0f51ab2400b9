"""CPU of a search over MCP, beside the same search by the API."""

from collections import defaultdict
from statistics import median

import httpx

from benchmarks.api.load import Asked, Loader, loader
from benchmarks.processes import cpu_of
from tests.support.live import KEY, LiveServer
from tests.support.tools import SCOPE, mcp_message

_BEYOND_MS_BAR = 6.0
_CONNECTIONS = 4
_MEMORIES, _FOUND = 100, 10
_ENGINE = "/v1/reasoningEngines/1"
_QUERY = "Where is parcel 17?"
_ARGUMENTS = {"query": _QUERY, "limit": _FOUND}
_SEARCH = {"searchQuery": _QUERY, "topK": _FOUND}
_CALL = {"name": "search_memories", "arguments": _ARGUMENTS}
_HEADERS, _MESSAGE = mcp_message("tools/call", _CALL)
_API, _TOOL, _MCP = ":retrieve", "memoryTools:call", "MCP"
_SEARCHES = {
    _API: Asked(
        "POST", f"{_ENGINE}/memories:retrieve", {"scope": SCOPE, "similaritySearchParams": _SEARCH}
    ),
    _TOOL: Asked("POST", f"{_ENGINE}/memoryTools:call", {**_CALL, "scope": SCOPE}),
    _MCP: Asked("POST", "/mcp?scope.user_id=42", _MESSAGE, _HEADERS),
}


def _fill(client: httpx.Client) -> None:
    """Write a scope of a hundred memories, and see that each kind of search finds ten."""
    for number in range(_MEMORIES):
        body = {"fact": f"I keep parcel {number} on shelf {number % 7}.", "scope": SCOPE}
        client.post(f"{_ENGINE}/memories", json=body).raise_for_status()
    answers = {
        kind: client.request(asked.method, asked.path, json=asked.body, headers=asked.headers)
        for kind, asked in _SEARCHES.items()
    }
    found = (
        answers[_API].json()["retrievedMemories"],
        answers[_TOOL].json()["result"]["memories"],
        answers[_MCP].json()["result"]["structuredContent"]["memories"],
    )
    assert [len(memories) for memories in found] == [_FOUND] * 3


def _spent(loading: Loader, server: LiveServer, asked: Asked, seconds: float) -> float:
    """Return the milliseconds of CPU of the service for each of such requests."""
    before, _ = cpu_of(server.process.pid)
    count, _ = loading.per_second(asked, _CONNECTIONS, seconds)
    after, _ = cpu_of(server.process.pid)
    return 1_000 * (after - before) / count


def measure_cost(server: LiveServer, rounds: int, seconds: float) -> bool:
    """Measure and print the table; return True if the bar is kept."""
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=30) as client:
        _fill(client)
    costs: dict[str, list[float]] = defaultdict(list)
    kinds = list(_SEARCHES)
    with loader(server.port, KEY) as loading:
        for turn in range(rounds):
            # Each comes at each place.
            for kind in kinds[turn % 3 :] + kinds[: turn % 3]:
                costs[kind].append(_spent(loading, server, _SEARCHES[kind], seconds))
    print(f"CPU of the service for a search, ms, medians of {rounds} rounds that take turns")
    print("  {:<18}{:>8}{:>18}".format("by", "ms", "beyond :retrieve"))
    beyond = 0.0
    for kind in kinds:
        beyond = median(cost - api for cost, api in zip(costs[kind], costs[_API], strict=True))
        print(f"  {kind:<18}{median(costs[kind]):>8.2f}{beyond:>18.2f}")
    # The last is MCP.
    is_kept = beyond <= _BEYOND_MS_BAR
    print(f"  bar {_BEYOND_MS_BAR} ms for MCP: {'kept' if is_kept else 'MISSED'}")
    return is_kept
