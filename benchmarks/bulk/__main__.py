"""Memories a second, created many at a time: `python -m benchmarks.bulk`.

In each round the same memories are imported, created in batches of 500, and put into the database
by `COPY`, with their vectors and revisions, which is the least that any service could take. The
application runs in this process, over a Postgres of its own; vectors are made beforehand, so that
no embedding is measured, and neither is the sending over a socket.
"""

import argparse
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
import psycopg
from fastapi import FastAPI
from psycopg import sql
from starlette.types import Message
from typing_extensions import override

from app.adapters.llm.embedders import Embedders
from app.adapters.llm.ports import Vectors
from app.memory.bulk.schemas import MAX_BATCH
from app.process.main import create_app
from app.process.serving import run
from app.process.start import open_process
from app.settings.settings import EmbedderChoice, Settings
from benchmarks.bulk.lists import show_lists
from benchmarks.processes import connections_seconds
from benchmarks.surroundings import data_folder, unread_logs
from tests.support.scripted_models import ScriptedEmbedder

_KEY = "bulk-benchmark-admin-key"
_HEADERS = [(b"authorization", f"Bearer {_KEY}".encode()), (b"content-type", b"application/json")]
_PATH = "/v1beta1/projects/default/locations/local/reasoningEngines/1/memories"
_PIECE_BYTES = 64 * 1024
_LISTED = 20_000
"""Memories of the import after which scopes are listed."""
_TABLES = ("memories", "memory_vectors", "memory_revisions")
_WORDS = (
    "window",
    "seat",
    "flights",
    "two",
    "cats",
    "garden",
    "cooks",
    "basil",
    "Sundays",
    "train",
)


class _Ready(ScriptedEmbedder):
    """Has a vector for anything."""

    def __init__(self) -> None:
        super().__init__()
        made = np.random.default_rng(7).standard_normal((4_096, self.dimensions))
        self._made = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)

    @override
    async def embed(self, texts: Sequence[str]) -> Vectors:
        found: Vectors = self._made[: len(texts)]
        return found


@dataclass(frozen=True)
class _Took:
    """Seconds: of the clock, of this process's CPU, and of Postgres's on its connections."""

    wall: float
    process: float
    postgres: float


def _memories(count: int, users: int = 100) -> list[dict[str, object]]:
    """Return memories of some users, each with what the README suggests to send along."""
    found: list[dict[str, object]] = []
    for number in range(count):
        words = [_WORDS[(number * 7 + at) % len(_WORDS)] for at in range(12)]
        metadata = {
            "source": {"stringValue": f"chat-{number // 20}"},
            "position": {"doubleValue": number % 20},
        }
        fact = f"User {number} {' '.join(words)}."
        scope = {"user_id": str(number % users)}
        found.append({"fact": fact, "scope": scope, "metadata": metadata})
    return found


async def _post(app: FastAPI, path: str, body: bytes) -> bytes:
    """Send a request, as a server hands it over: in pieces."""
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
        "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": b"",
        "root_path": "", "client": ("127.0.0.1", 1), "server": ("test", 80),
        "headers": [*_HEADERS, (b"content-length", str(len(body)).encode())],
    }  # fmt: skip
    pieces = iter([body[at : at + _PIECE_BYTES] for at in range(0, len(body), _PIECE_BYTES)])
    answer, status = bytearray(), 0

    async def receive() -> Message:
        piece = next(pieces, b"")
        return {"type": "http.request", "body": piece, "more_body": bool(piece)}

    async def send(message: Message) -> None:
        nonlocal status
        status = message.get("status", status)
        answer.extend(message.get("body", b""))

    await app(scope, receive, send)
    assert status == 200, bytes(answer)
    return bytes(answer)


@dataclass(frozen=True)
class _Bench:
    app: FastAPI
    url: str

    async def measure(self, work: Callable[[], Awaitable[None]]) -> _Took:
        began = time.perf_counter(), time.process_time(), connections_seconds(self.url)
        await work()
        ended = time.perf_counter(), time.process_time(), connections_seconds(self.url)
        return _Took(*(b - a for a, b in zip(began, ended, strict=True)))

    async def import_all(self, body: bytes, count: int) -> None:
        answer = json.loads(await _post(self.app, _PATH + ":import", body))
        assert answer["imported"] == count, answer

    async def batch_all(self, bodies: Sequence[bytes]) -> None:
        for body in bodies:
            await _post(self.app, _PATH + ":batchCreate", body)

    def copied(self) -> dict[str, bytes]:
        """Return what the tables hold, as `COPY` writes it."""
        found = {}
        with psycopg.connect(self.url) as connection:
            for table in _TABLES:
                with connection.cursor().copy(_copy(connection, table, "to stdout")) as copy:
                    found[table] = b"".join(bytes(piece) for piece in copy)
        return found

    def copy_all(self, content: dict[str, bytes]) -> float:
        """Put rows into the tables in one transaction; return the seconds that it takes."""
        with psycopg.connect(self.url) as connection:
            statements = {table: _copy(connection, table, "from stdin") for table in _TABLES}
            began = time.perf_counter()
            for table, statement in statements.items():
                with connection.cursor().copy(statement) as copy:
                    copy.write(content[table])
            connection.commit()
            return time.perf_counter() - began

    def empty(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(b"truncate memories, operations cascade")
            connection.execute(b"checkpoint")


def _copy(connection: psycopg.Connection, table: str, verb: str) -> sql.Composed:
    """Return a statement over the columns of a table that are not computed from others."""
    rows = connection.execute(
        "select column_name from information_schema.columns where table_name = %s"
        " and is_generated = 'NEVER' order by ordinal_position",
        [table],
    )
    columns = sql.SQL(", ").join(sql.Identifier(name) for (name,) in rows)
    text = "copy {} ({}) " + verb
    return sql.SQL(text).format(sql.Identifier(table), columns)


async def _measure(folder: Path, rounds: int, count: int) -> None:
    settings = Settings(data_dir=folder, admin_key=_KEY, embedder=EmbedderChoice.HASH)
    made = _memories(count)
    lines = "\n".join(json.dumps(one) for one in made).encode()
    requests = [{"memory": one} for one in made]
    bodies = [
        json.dumps({"requests": requests[at : at + MAX_BATCH]}).encode()
        for at in range(0, count, MAX_BATCH)
    ]
    async with open_process(settings) as found:
        resources = replace(found.resources, embedders=Embedders(_Ready()))
        bench = _Bench(create_app(resources), resources.database_url)
        took: dict[str, list[_Took]] = {"import": [], "batchCreate": [], "COPY": []}
        for number in range(rounds + 1):
            bench.empty()
            imported = await bench.measure(lambda: bench.import_all(lines, count))
            content = bench.copied()
            bench.empty()
            copied = _Took(bench.copy_all(content), 0, 0)
            bench.empty()
            batched = await bench.measure(lambda: bench.batch_all(bodies))
            if number:
                for name, one in zip(took, (imported, batched, copied), strict=True):
                    took[name].append(one)
    _report(took, count)


def _report(took: dict[str, list[_Took]], count: int) -> None:
    floor = median(one.wall for one in took["COPY"])
    for name, rounds in took.items():
        wall = median(one.wall for one in rounds)
        line = f"{name:12} {count / wall:7,.0f} memories/s, {wall / floor:4.1f} times COPY"
        if name != "COPY":
            process, postgres = (
                1e6 * median(getattr(one, what) for one in rounds) / count
                for what in ("process", "postgres")
            )
            line += f"; CPU a memory: process {process:.0f} us, Postgres {postgres:.0f} us"
        print(line)
    print(f"{count:,} memories a round, medians of {len(took['COPY'])} rounds.")


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="Memories a second, created many at a time.")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, after one that warms up")
    parser.add_argument("--memories", type=int, default=10_000, help="memories of a round")
    parser.add_argument("--lists", action="store_true", help="only the lists after an import")
    asked = parser.parse_args()
    are_kept: list[bool] = []
    with unread_logs():
        if not asked.lists:
            with data_folder() as folder:
                run(lambda: _measure(folder, asked.rounds, asked.memories))
        with data_folder() as folder:
            run(lambda: _list(are_kept, folder))
    sys.exit(0 if all(are_kept) else 1)


async def _list(are_kept: list[bool], folder: Path) -> None:
    are_kept.append(await show_lists(folder, _Ready(), _memories(_LISTED, users=_LISTED // 20)))


if __name__ == "__main__":
    main()
