"""What an agent's most frequent calls cost: `python -m benchmarks.api.agents`.

By a key that is bound to one user, with a request id for each change, as agents are advised to
call: an append of an event, a read of an operation, and a generation by the rules of a conversation
of six messages, which the agent polls until it is done. The unit is a creation of a memory by the
same key in the same round, since milliseconds depend on the machine. The CPU time of the service,
its worker included, and of Postgres count together; the embedder hashes.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable
from itertools import count
from statistics import median
from time import sleep, time_ns
from typing import Any

import httpx

from app.settings.settings import EmbedderChoice
from benchmarks.api.server import ENGINE, bound_key, client_of, serving
from benchmarks.processes import cpu_of

_USER = "42"
_POLL_SECONDS = 0.05
_SAID = (
    "I moved to Lisbon in 2021 and I like it.",
    "Thank you, I will keep that in mind.",
    "My sister Anna works as a nurse.",
    "Good to know.",
    "I prefer green tea in the morning.",
    "Noted.",
)
_BEFORE = 12.7
"""Creations that a generation took before it was queued, read and claimed by hot statements."""
_BARS = {"append": 1.1, "generate": 0.67 * _BEFORE}
"""By call, its most CPU time, in creations."""


class _Agent:
    """An agent with a session, as it calls the service."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self._numbers = count(time_ns() % 10_000_000)
        self._post(f"{ENGINE}/sessions?sessionId=s", {"userId": _USER})
        self._done = self.generate()

    def create(self) -> None:
        """Create a memory."""
        body = {"fact": "I like green tea in the morning.", "scope": {"user_id": _USER}}
        self._post(f"{ENGINE}/memories", body)

    def append(self) -> None:
        """Append an event to the session."""
        content = {"role": "user", "parts": [{"text": "Which tea do I like in the morning?"}]}
        event = {"author": "user", "invocationId": "i", "timestamp": "2026-01-15T12:00:00Z"}
        self._post(f"{ENGINE}/sessions/s:appendEvent", {**event, "content": content})

    def read(self) -> None:
        """Read the operation of a generation."""
        self._client.get(f"/v1beta1/{self._done}").raise_for_status()

    def generate(self) -> str:
        """Generate memories in a new scope; return the name of the operation, which has ended."""
        events = [
            {"content": {"role": role, "parts": [{"text": text}]}}
            for text, role in zip(_SAID, ("user", "model") * 3, strict=True)
        ]
        scope = {"user_id": _USER, "talk": str(next(self._numbers))}
        body = {"scope": scope, "directContentsSource": {"events": events}}
        operation = self._post(f"{ENGINE}/memories:generate", body)
        while not operation.get("done"):
            sleep(_POLL_SECONDS)
            answer = self._client.get(f"/v1beta1/{operation['name']}")
            operation = answer.raise_for_status().json()
        assert "response" in operation, operation
        return str(operation["name"])

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Idempotency-Key": f"benchmark-{next(self._numbers)}"}
        answer = self._client.post(path, json=body, headers=headers)
        found: dict[str, Any] = answer.raise_for_status().json()
        return found


def _spent(pid: int, call: Callable[[], object], times: int) -> float:
    """Return the milliseconds of CPU of a call, of the service and of Postgres together."""
    before = sum(cpu_of(pid))
    for _ in range(times):
        call()
    return 1_000 * (sum(cpu_of(pid)) - before) / times


def _measure(rounds: int, calls: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    with serving(EmbedderChoice.HASH) as (port, pid), client_of(port) as admin:
        secret = bound_key(admin, [_USER])
        with client_of(port) as client:
            client.headers["Authorization"] = f"Bearer {secret}"
            agent = _Agent(client)
            ways = {
                "create": (agent.create, calls),
                "append": (agent.append, calls),
                "read": (agent.read, calls),
                "generate": (agent.generate, calls // 10),
            }
            for call, _ in ways.values():
                _spent(pid, call, 10)
            for turn in range(rounds):
                order = list(ways)
                for name in order[turn % len(order) :] + order[: turn % len(order)]:
                    call, times = ways[name]
                    found[name].append(_spent(pid, call, times))
    return found


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="What an agent's most frequent calls cost.")
    parser.add_argument("--rounds", type=int, default=8, help="rounds of all calls")
    parser.add_argument("--calls", type=int, default=300, help="calls of a kind in a round")
    options = parser.parse_args()
    found = _measure(options.rounds, options.calls)
    print("milliseconds of CPU of service and Postgres, by a bound key with request ids")
    are_met = True
    for name, spent in found.items():
        ratio = median(a / b for a, b in zip(spent, found["create"], strict=True))
        bar = _BARS.get(name)
        are_met &= bar is None or ratio <= bar
        print(f"  {name:<10}{median(spent):>7.2f}{ratio:>7.2f} creations", end="")
        print("" if bar is None else f" (bar {bar:.1f})")
    sys.exit(not are_met)


if __name__ == "__main__":
    main()
