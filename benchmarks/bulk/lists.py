"""Lists of the scopes right after an import, once its tables are analysed and vacuumed.

The milliseconds are CPU time of the service and of Postgres, which neighbours on the machine
do not change. A list counts the memories of each scope on its page, so their number matters, too.
"""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import psycopg
from fastapi import FastAPI

from app.adapters.llm.embedders import Embedders, ManagedEmbedder
from app.process.main import create_app
from app.process.start import open_process
from app.settings.settings import EmbedderChoice, Settings
from benchmarks.processes import connections_seconds
from tests.support.asgi import Sent, call

_KEY = "bulk-benchmark-admin-key"
_HEADERS = ((b"authorization", f"Bearer {_KEY}".encode()), (b"content-type", b"application/json"))
_MEMORIES = b"/v1beta1/projects/default/locations/local/reasoningEngines/1/memories"
_BAR_MS = 5.0
_LISTS = 30
_ROUNDS = 9
_PATIENCE_SECONDS = 30
_UPDATED = b"""
select n_mod_since_analyze = 0 and last_vacuum > last_analyze
from pg_stat_user_tables where relname = 'memories'
"""


async def show_lists(
    folder: Path, embedder: ManagedEmbedder, memories: Sequence[dict[str, object]]
) -> bool:
    """Print the CPU of a list after an import; return True if the bar is kept."""
    settings = Settings(data_dir=folder, admin_key=_KEY, embedder=EmbedderChoice.HASH)
    async with open_process(settings) as found:
        resources = replace(found.resources, embedders=Embedders(embedder))
        app = create_app(resources)
        lines = "\n".join(map(json.dumps, memories)).encode()
        await _send(app, Sent("POST", _MEMORIES + b":import", headers=_HEADERS, body=lines))
        began = time.perf_counter()
        while not _is_updated(resources.database_url):
            assert time.perf_counter() - began < _PATIENCE_SECONDS, "the tables are not updated"
            await asyncio.sleep(0.1)
        waited = time.perf_counter() - began
        took = [await _milliseconds(app, resources.database_url) for _ in range(1 + _ROUNDS)]
    # The first round prepares the statements of the connections.
    middle = median(took[1:])
    is_kept = middle <= _BAR_MS
    said = "kept" if is_kept else "MISSED"
    scopes = len({json.dumps(one["scope"]) for one in memories})
    print(
        f"list of scopes after an import of {len(memories):,} into {scopes:,}, updated"
        f" {waited:.1f} s later: {middle:.2f} ms of CPU (bar {_BAR_MS:.0f}) {said}"
    )
    return is_kept


async def _milliseconds(app: FastAPI, url: str) -> float:
    # In this order: what the benchmark asks Postgres for is no part of a list.
    began = connections_seconds(url) + time.process_time()
    for _ in range(_LISTS):
        await _send(app, Sent("GET", _MEMORIES + b":listScopes", headers=_HEADERS))
    return 1_000 * (time.process_time() + connections_seconds(url) - began) / _LISTS


async def _send(app: FastAPI, sent: Sent) -> None:
    answer = await call(app, sent)
    assert answer.status == 200, answer.body


def _is_updated(url: str) -> bool:
    with psycopg.connect(url) as connection:
        return connection.execute(_UPDATED).fetchone() == (True,)
