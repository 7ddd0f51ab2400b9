"""How long an administrator waits for a list in a large bank: `python -m benchmarks.console`.

An engine has as many revisions as are asked for, ten of each memory, with three labels each. Lists
are asked for by each field that their filters have, where one revision in a thousand matches; and
page after page. Requests go to the application one after another, in this process: neither a
socket nor other work is part of the time.
"""

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

from fastapi import FastAPI

from app.kernel.wire.scalars import format_timestamp
from app.process.main import create_app
from app.process.serving import run
from app.process.start import open_process
from app.settings.settings import EmbedderChoice, Settings
from benchmarks.console.bank import VALUES, fill
from benchmarks.surroundings import data_folder, unread_logs
from tests.support.asgi import Answer, Sent, call
from tests.support.scripted_models import ScriptedEmbedder

_OF_MEMORY = 10
_KEY = "console-benchmark-admin-key"
_HEADERS = ((b"authorization", f"Bearer {_KEY}".encode()),)
_REVISIONS = "/v1/reasoningEngines/1/memories/-/revisions"
_INDEXED_MS, _BY_TIME_MS, _LABELS_MS, _PAGE_RATIO = 50, 500, 10, 2
_FILTERS = {
    "no filter": ("", _INDEXED_MS),
    "labels": ("labels.source=7", _INDEXED_MS),
    "rare label": ("labels.run=yes", _INDEXED_MS),
    "memory": ("memory=m7", _INDEXED_MS),
    "action": ("action=DELETED", _BY_TIME_MS),
    "author": ("author=author-7", _BY_TIME_MS),
    "caller": ("caller=caller-7", _BY_TIME_MS),
    "operation": ("operation=o7", _INDEXED_MS),
    "create_time": ('create_time>"{recent}"', _INDEXED_MS),
    "scope": ('scope="{{\\"user_id\\": \\"7\\"}}"', _INDEXED_MS),
    "scope.user_id": ("scope.user_id=7", _INDEXED_MS),
}
"""By the field: a filter that one revision in a thousand matches, and how long it may take."""
_LABELS: Mapping[str, tuple[dict[str, str], int]] = {
    "keys": ({}, _LABELS_MS),
    "values": ({"key": "source", "prefix": "1", "pageSize": "100"}, _LABELS_MS),
}


@dataclass(frozen=True)
class _Bench:
    """The application, and how often it is asked the same."""

    app: FastAPI
    repeats: int

    async def ask(self, method: str, **params: str) -> tuple[float, Answer]:
        """Return the milliseconds of a request, which must succeed, and its answer."""
        sent = Sent("GET", (_REVISIONS + method).encode(), urlencode(params).encode(), _HEADERS)
        began = time.perf_counter()
        answer = await call(self.app, sent)
        took = 1_000 * (time.perf_counter() - began)
        assert answer.status == 200, answer.body
        return took, answer

    async def often(self, method: str, **params: str) -> list[float]:
        """Return the times of the same request, sorted, without the first."""
        return sorted([(await self.ask(method, **params))[0] for _ in range(self.repeats + 1)][1:])

    async def lists(self, since: datetime) -> None:
        """Time the first page of each list; `since` is when the last thousandth begins."""
        recent = format_timestamp(since)
        for field, (text, bar) in _FILTERS.items():
            params = {"filter": text.format(recent=recent)}
            _, answer = await self.ask("", **params)
            _report(field, await self.often("", **params), bar, len(answer.json["memoryRevisions"]))
        for name, (params, bar) in _LABELS.items():
            _, answer = await self.ask(":listLabels", **params)
            took = await self.often(":listLabels", **params)
            _report(f"labels: {name}", took, bar, len(answer.json["labels"]))

    async def pages(self, count: int) -> None:
        """Time the pages of the whole list one after another, and compare the last with the first.

        Single pages vary, so the median of twenty stands for each.
        """
        took: list[float] = []
        params: dict[str, str] = {}
        for _ in range(count):
            milliseconds, answer = await self.ask("", **params)
            took.append(milliseconds)
            token = json.loads(answer.body).get("nextPageToken")
            if token is None:
                break
            params = {"pageToken": token}
        first, last = median(took[:20]), median(took[-20:])
        is_kept = last <= _PAGE_RATIO * first
        print(
            f"  page 1 of the list {first:.1f} ms, page {len(took):,} {last:.1f} ms: bar of"
            f" {_PAGE_RATIO} times {'kept' if is_kept else 'MISSED'}"
        )


def _report(name: str, took: Sequence[float], bar: float, rows: int) -> None:
    p50 = median(took)
    told = "kept" if p50 <= bar else "MISSED"
    print(f"  {name:<18}{rows:>6}{took[0]:>9.1f}{p50:>9.1f}{bar:>7} {told}", flush=True)


async def _measure(folder: Path, asked: argparse.Namespace) -> None:
    settings = Settings(data_dir=folder, admin_key=_KEY, embedder=EmbedderChoice.HASH)
    async with open_process(settings) as found:
        resources = replace(found.resources, embedder=ScriptedEmbedder())
        began = time.monotonic()
        fill(resources.database_url, asked.revisions, of_memory=_OF_MEMORY)
        print(f"{asked.revisions:,} revisions, written in {time.monotonic() - began:.0f} s")
        print(
            "  {:<18}{:>6}{:>9}{:>9}{:>7}".format(
                "first page by", "rows", "least ms", "p50 ms", "bar"
            )
        )
        bench = _Bench(create_app(resources), asked.repeats)
        last = timedelta(seconds=asked.revisions / VALUES)
        await bench.lists(resources.clock.now() - last)
        await bench.pages(asked.pages)


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="How long an administrator waits for an answer.")
    parser.add_argument("--revisions", type=int, default=100_000, help="of the engine")
    parser.add_argument("--repeats", type=int, default=20, help="requests of each kind")
    parser.add_argument("--pages", type=int, default=1_000, help="pages that are read")
    asked = parser.parse_args()
    with unread_logs(), data_folder() as folder:
        run(lambda: _measure(folder, asked))


if __name__ == "__main__":
    main()
