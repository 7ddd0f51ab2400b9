"""CPU time that the audit log adds to a change: `python -m benchmarks.audit`.

Two applications on one database create memories in turn, some at a time: one with its audit log,
one with a log that writes nothing. What this process spends is measured, and what Postgres spends
on its connections. Computing embeddings and parsing HTTP from a socket are not part of it. Each
request has an id of its own, so that it goes the way of several statements: in that of one, the
audit log is a part of it and cannot be left out.
"""

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from fastapi import FastAPI
from typing_extensions import override

from app.kernel.audit import Audited, Auditor
from app.kernel.errors import ServiceError
from app.process.main import create_app
from app.process.serving import run
from app.process.start import open_process
from app.settings.settings import EmbedderChoice, Settings
from benchmarks.processes import connections_seconds
from benchmarks.surroundings import data_folder, unread_logs
from tests.support.asgi import Sent, call
from tests.support.scripted_models import ScriptedEmbedder

_KEY = "audit-benchmark-admin-key"
_HEADERS = ((b"authorization", f"Bearer {_KEY}".encode()), (b"content-type", b"application/json"))
_PATH = b"/v1/reasoningEngines/1/memories"


class _Silent(Auditor):
    """An audit log that nobody keeps."""

    @override
    def columns(self, audited: Audited, told: Mapping[str, str]) -> dict[str, Any]:
        raise NotImplementedError

    @override
    async def record(self, session: object, audited: Audited) -> None:
        pass

    @override
    async def record_alone(self, audited: Audited, error: ServiceError | None) -> None:
        pass


@dataclass(frozen=True)
class _Spent:
    """Milliseconds of CPU of one request, on average of a block."""

    process: float
    postgres: float


async def _block(app: FastAPI, requests: int, url: str, name: str) -> _Spent:
    body = [
        json.dumps({"fact": f"Fact {n} of {name}.", "scope": {"user_id": name}}).encode()
        for n in range(requests)
    ]
    began = time.process_time(), connections_seconds(url)
    for n, one in enumerate(body):
        query = f"requestId={name.replace(' ', '-')}-{n}".encode()
        answer = await call(app, Sent("POST", _PATH, query, headers=_HEADERS, body=one))
        assert answer.status == 200, answer.body
    ended = time.process_time(), connections_seconds(url)
    process, postgres = (1_000 * (b - a) / requests for a, b in zip(began, ended, strict=True))
    return _Spent(process, postgres)


async def _measure(folder: Path, blocks: int, requests: int) -> None:
    settings = Settings(data_dir=folder, admin_key=_KEY, embedder=EmbedderChoice.HASH)
    async with open_process(settings) as found:
        resources = replace(found.resources, embedder=ScriptedEmbedder())
        told, silent = create_app(resources), create_app(resources)
        silent.state.gate = replace(silent.state.gate, auditor=_Silent())
        spent: dict[str, list[_Spent]] = {"with the log": [], "without": []}
        for block in range(blocks + 2):
            for app, name in ((silent, "without"), (told, "with the log")):
                one = await _block(app, requests, resources.database_url, f"{name} {block}")
                if block >= 2:
                    spent[name].append(one)
    _report(spent["with the log"], spent["without"])


def _report(told: Sequence[_Spent], silent: Sequence[_Spent]) -> None:
    for what in ("process", "postgres"):
        pairs = [(getattr(a, what), getattr(b, what)) for a, b in zip(told, silent, strict=True)]
        low, added, high = quantiles([a - b for a, b in pairs], n=4)
        print(
            f"{what}: a create costs {median(a for a, _ in pairs):.2f} ms of CPU with the log,"
            f" {median(b for _, b in pairs):.2f} without: {added:.3f} more"
            f" (quartiles {low:.3f} to {high:.3f}, {len(pairs)} pairs of blocks)"
        )


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="CPU time that the audit log adds to a change.")
    parser.add_argument("--blocks", type=int, default=40, help="pairs of blocks")
    parser.add_argument("--requests", type=int, default=50, help="requests of a block")
    asked = parser.parse_args()
    with unread_logs(), data_folder() as folder:
        run(lambda: _measure(folder, asked.blocks, asked.requests))


if __name__ == "__main__":
    main()
