"""A small generation of one tenant beside eight of the largest size by another's key."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from tests.support.live import KEY, LiveServer, live_server

_LARGE = 8
_CHARS = 2_000_000
_SMALL_ROUNDS = 5
_START_BAR, _END_BAR = 2.0, 5.0
_PATIENCE_SECONDS = 60
_SENTENCES = (
    "I live in house number {n} in Berlin.",
    "My favourite colour of day {n} is blue.",
    "Yesterday the train number {n} was late again, and we waited.",
    "I like pizza {n} with cheese, but not with ham.",
    "My sister {n} works as a nurse in Hamburg.",
)


def show_small_beside_large(folder: Path) -> bool:
    """Print how long small generations wait and take; return True if both bars are kept."""
    with live_server(folder, MEMORY_BANK_EMBEDDER="hash", MEMORY_BANK_LOG_LEVEL="ERROR") as server:
        with client_of(server, KEY) as admin:
            secret = read_answer(
                admin.post("keys", json={"displayName": "other", "roles": ["user"]})
            )
            engine = _engine(admin)
        with client_of(server, secret["secret"]) as other:
            quiet = [_small(other, engine) for _ in range(_SMALL_ROUNDS)]
            large = _flood(server)
            beside = [_small(other, engine) for _ in range(_SMALL_ROUNDS)]
        with client_of(server, KEY) as admin:
            left = sum(not read_answer(admin.get(name)).get("done") for name in large)
    print(f"\nseconds of a small generation beside {_LARGE} of {_CHARS} characters by one key")
    print(f"  {'':<28}{'alone':>8}{'median':>8}{'latest':>8}{'bar':>8}")
    are_kept = [left > 0]
    for at, (name, bar) in enumerate((("until it starts", _START_BAR), ("to its end", _END_BAR))):
        found = [one[at] for one in beside]
        are_kept.append(max(found) <= bar)
        said = "kept" if are_kept[-1] else "MISSED"
        alone = median(one[at] for one in quiet)
        print(f"  {name:<28}{alone:>8.2f}{median(found):>8.2f}{max(found):>8.2f}{bar:>8.1f} {said}")
    print(f"  large ones that were not done by then: {left} of {_LARGE} (bar: at least one)")
    return all(are_kept)


def client_of(server: LiveServer, secret: str) -> httpx.Client:
    """Return a client of a server by a key."""
    return httpx.Client(
        base_url=f"{server.url}/v1beta1/",
        headers={"Authorization": f"Bearer {secret}"},
        timeout=_PATIENCE_SECONDS,
    )


def read_answer(answer: httpx.Response) -> dict[str, Any]:
    """Return the body of an answer that must be a success."""
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


def _engine(client: httpx.Client) -> str:
    """Make an engine; return its name."""
    parent = "projects/default/locations/local/reasoningEngines"
    made = read_answer(client.post(parent, json={"displayName": "other"}))
    return str(made["name"].partition("/operations/")[0])


def asked_to_generate(client: httpx.Client, engine: str, user: str, said: str) -> str:
    """Queue a generation; return the name of its operation."""
    events = [{"content": {"role": "user", "parts": [{"text": said}]}}]
    body = {"scope": {"user_id": user}, "directContentsSource": {"events": events}}
    return str(read_answer(client.post(f"{engine}/memories:generate", json=body))["name"])


def _flood(server: LiveServer) -> list[str]:
    """Queue the large ones at once, each of a user of its own; return their names."""
    said = " ".join(
        _SENTENCES[number % len(_SENTENCES)].format(n=number) for number in range(_CHARS // 30)
    )
    engine = "projects/default/locations/local/reasoningEngines/1"
    with client_of(server, KEY) as client, ThreadPoolExecutor(_LARGE) as pool:
        asked = [
            pool.submit(asked_to_generate, client, engine, f"large {number}", said[:_CHARS])
            for number in range(_LARGE)
        ]
        return [one.result() for one in asked]


def _small(client: httpx.Client, engine: str) -> tuple[float, float]:
    """Run a small generation; return the seconds until its start and until its end."""
    begun = time.perf_counter()
    name = asked_to_generate(client, engine, f"small {begun}", "I like tea. I live in Oslo.")
    queued = time.perf_counter() - begun
    while not (operation := read_answer(client.get(name))).get("done"):
        if time.perf_counter() - begun > _PATIENCE_SECONDS:
            return _PATIENCE_SECONDS, _PATIENCE_SECONDS
        time.sleep(0.02)
    ended = time.perf_counter() - begun
    told = operation["metadata"]
    made, started = map(
        datetime.fromisoformat, (told["genericMetadata"]["createTime"], told["startTime"])
    )
    # The request itself, then the wait in the queue.
    return queued + (started - made).total_seconds(), ended
