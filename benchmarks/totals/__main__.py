"""What the triggers that count what engines hold add to a request: `python -m benchmarks.totals`.

One application sends blocks of requests, in turn with the triggers and without them. The time of a
request is measured, and the CPU time that this process and Postgres, on its connections, spend.
Computing embeddings and parsing HTTP from a socket are not part of it.
"""

import argparse
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from statistics import median, quantiles

import psycopg
from fastapi import FastAPI
from psycopg import sql

from app.process.main import create_app
from app.process.serving import run
from app.process.start import open_process
from app.settings.settings import EmbedderChoice, Settings
from benchmarks.processes import connections_seconds
from benchmarks.surroundings import data_folder, unread_logs
from tests.support.asgi import Sent, call
from tests.support.scripted_models import ScriptedEmbedder

_KEY = "totals-admin-key"
_HEADERS = ((b"authorization", f"Bearer {_KEY}".encode()), (b"content-type", b"application/json"))
_ENGINE = "/v1/reasoningEngines/1"
_TRIGGERS = (
    b"select tgrelid::regclass::text, tgname from pg_trigger where tgname like 'total%'"
    b" order by 1, 2"
)


@dataclass(frozen=True)
class _Spent:
    """Milliseconds of one request: its time, on the median of a block, and CPU on average."""

    wall: float
    process: float
    postgres: float


@dataclass(frozen=True)
class _Bench:
    """The application, and its database from aside."""

    app: FastAPI
    url: str
    numbers: Iterator[int] = field(default_factory=count)

    def count(self, *, is_on: bool) -> None:
        """Let the triggers count, or not."""
        verb = sql.SQL("enable" if is_on else "disable")
        with psycopg.connect(self.url) as connection:
            for table, trigger in connection.execute(_TRIGGERS).fetchall():
                names = sql.Identifier(table), sql.Identifier(trigger)
                connection.execute(
                    sql.SQL("alter table {} {} trigger {}").format(names[0], verb, names[1])
                )

    async def block(self, what: str, requests: int) -> _Spent:
        """Send requests, one after another."""
        took = []
        began = time.process_time(), connections_seconds(self.url)
        for _ in range(requests):
            at = time.perf_counter()
            await self.send(*_request(what, next(self.numbers)))
            took.append(time.perf_counter() - at)
        ended = time.process_time(), connections_seconds(self.url)
        cpu = (1_000 * (b - a) / requests for a, b in zip(began, ended, strict=True))
        return _Spent(1_000 * median(took), *cpu)

    async def send(self, path: str, body: Mapping[str, object], query: bytes = b"") -> None:
        """Send a request, which must succeed."""
        text = json.dumps(body).encode()
        sent = Sent("POST", (_ENGINE + path).encode(), query, _HEADERS, text)
        answer = await call(self.app, sent)
        assert answer.status == 200, answer.body


def _request(what: str, number: int) -> tuple[str, Mapping[str, object]]:
    said = {"role": "user", "parts": [{"text": f"I like thing {number}, and a few words more."}]}
    event = {
        "author": "user",
        "invocationId": "i",
        "timestamp": "2026-01-15T12:00:00Z",
        "content": said,
    }
    match what:
        case "create":
            scope = {"user_id": str(number % 100)}
            return "/memories", {"fact": f"Fact {number} of somebody.", "scope": scope}
        case "append":
            return "/sessions/s:appendEvent", event
        case "append with state":
            actions = {"stateDelta": {"number": number}}
            return "/sessions/s:appendEvent", {**event, "actions": actions}
        case _:
            events = [{"content": said}] * 2_000
            rule = {"generationRule": {"idleDuration": "3600s"}}
            return "/memories:ingestEvents", {
                "scope": {"user_id": "42"},
                "streamId": str(number),
                "directContentsSource": {"events": events},
                "generationTriggerConfig": rule,
            }


async def _measure(folder: Path, blocks: int, requests: int) -> None:
    settings = Settings(data_dir=folder, admin_key=_KEY, embedder=EmbedderChoice.HASH)
    async with open_process(settings) as found:
        resources = replace(found.resources, embedder=ScriptedEmbedder())
        bench = _Bench(create_app(resources), resources.database_url)
        state = {f"key{n}": "value" for n in range(20)}
        await bench.send("/sessions", {"userId": "42", "sessionState": state}, b"sessionId=s")
        sizes = dict.fromkeys(("create", "append", "append with state"), requests)
        for what, size in {**sizes, "ingest of 2,000 events": 2}.items():
            pairs = []
            for _ in range(blocks + 2):
                bench.count(is_on=False)
                without = await bench.block(what, size)
                bench.count(is_on=True)
                pairs.append((await bench.block(what, size), without))
            _report(what, pairs[2:])


def _report(what: str, pairs: list[tuple[_Spent, _Spent]]) -> None:
    for name in ("wall", "process", "postgres"):
        found = [(getattr(a, name), getattr(b, name)) for a, b in pairs]
        low, added, high = quantiles([a - b for a, b in found], n=4)
        print(
            f"{what}, {name}: {median(b for _, b in found):.2f} ms without counting,"
            f" {added:+.3f} with it (quartiles {low:+.3f} to {high:+.3f}, {len(found)} pairs)",
            flush=True,
        )


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="What counting adds to a request.")
    parser.add_argument("--blocks", type=int, default=40, help="pairs of blocks")
    parser.add_argument("--requests", type=int, default=50, help="requests of a block")
    asked = parser.parse_args()
    with unread_logs(), data_folder() as folder:
        run(lambda: _measure(folder, asked.blocks, asked.requests))


if __name__ == "__main__":
    main()
