"""How long pages of the console take, by the bank's size: `python -m benchmarks.console.pages`.

A page is asked for in this process, one request after another, and the time in which its calls of
the API are under way is taken off: what is left is the console's own. Lists are read page by page,
as one who clicks on "Older". Then many sessions read pages at a steady rate from a live server.

It exits with 1 if a bar is missed.
"""

import argparse
import asyncio
import re
import sys
import time
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from statistics import median

import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from app.adapters.inprocess import SURFACE
from app.adapters.postgres.home import FOLDER, SOCKETS
from app.adapters.postgres.server import url_of
from app.process.main import create_app
from app.process.serving import run
from app.process.start import open_process
from app.settings.settings import EmbedderChoice, Settings
from benchmarks.console.bank import fill
from benchmarks.surroundings import data_folder, unread_logs
from tests.support.console import browser, sign_in
from tests.support.heavy import p99
from tests.support.live import KEY, live_server
from tests.support.scripted_models import ScriptedEmbedder

_PAGES = {"overview": "", "memories": "/memories", "revisions": "/revisions"}
_LISTS = ("memories", "revisions")
_CONSOLE = "/console/e/1"
_OWN_MS, _RATIO = 100, 2
_AROUND = 20
"""Single pages vary, so the median of so many stands for one."""
_OLDER = re.compile(r'<a href="([^"]+)"[^>]*>Older')
_SESSIONS, _LOADS_A_SECOND = 50, 20

_Walks = dict[str, tuple[float, float]]
"""By the list: the milliseconds of its first page and of its last."""


class _Stopwatch:
    """Middleware that adds up the time in which calls of pages are under way."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if SURFACE not in scope:
            await self._app(scope, receive, send)
            return
        _Calls.begin()
        try:
            await self._app(scope, receive, send)
        finally:
            _Calls.end()


class _Calls:
    """The calls of all pages; two at once count once."""

    seconds = 0.0
    _under_way = 0
    _began = 0.0

    @classmethod
    def begin(cls) -> None:
        if not cls._under_way:
            cls._began = time.perf_counter()
        cls._under_way += 1

    @classmethod
    def end(cls) -> None:
        cls._under_way -= 1
        if not cls._under_way:
            cls.seconds += time.perf_counter() - cls._began


@dataclass(frozen=True)
class _Load:
    """A page that was read: its milliseconds in all, those beyond its calls, and its text."""

    whole: float
    own: float
    text: str


@dataclass(frozen=True)
class _Reader:
    """A signed-in browser."""

    client: httpx.AsyncClient

    async def read(self, path: str) -> _Load:
        calls, began = _Calls.seconds, time.perf_counter()
        answer = await self.client.get(path)
        whole = time.perf_counter() - began
        assert answer.status_code == 200, answer.text
        return _Load(1_000 * whole, 1_000 * (whole - (_Calls.seconds - calls)), answer.text)

    async def first_pages(self, repeats: int) -> bool:
        """Time the first page of each screen; return True if the bars are kept."""
        is_kept = True
        for name, path in _PAGES.items():
            loads = [await self.read(_CONSOLE + path) for _ in range(repeats + 1)][1:]
            whole, own = (
                median(each) for each in zip(*((x.whole, x.own) for x in loads), strict=True)
            )
            is_kept &= own <= _OWN_MS
            print(f"  {name:<12}{whole:>9.1f}{own:>9.1f}{len(loads[0].text.encode()):>11,}")
        return is_kept

    async def walk(self, name: str, count: int) -> tuple[float, float, int]:
        """Read a list page after page; return the first and the last, and how many there were."""
        took: list[float] = []
        path = _CONSOLE + _PAGES[name]
        for _ in range(count):
            load = await self.read(path)
            took.append(load.whole)
            older = _OLDER.search(load.text)
            if older is None:
                break
            path = unescape(older[1])
        return median(took[:_AROUND]), median(took[-_AROUND:]), len(took)


async def _measure(folder: Path, asked: argparse.Namespace) -> tuple[bool, _Walks]:
    settings = Settings(data_dir=folder, admin_key=KEY, embedder=EmbedderChoice.HASH)
    async with open_process(settings) as found:
        app = create_app(replace(found.resources, embedder=ScriptedEmbedder()))
        app.add_middleware(_Stopwatch)
        async with browser(app) as client:
            await sign_in(client, KEY)
            reader = _Reader(client)
            print("  {:<12}{:>9}{:>9}{:>11}".format("first page", "p50 ms", "own ms", "bytes"))
            is_kept = await reader.first_pages(asked.repeats)
            walks: _Walks = {}
            for name in _LISTS:
                first, last, count = await reader.walk(name, asked.pages)
                walks[name] = (first, last)
                print(f"  {name}: page 1 {first:.1f} ms, page {count:,} {last:.1f} ms")
    return is_kept, walks


async def _loads(url: str, seconds: int) -> list[float]:
    """Read pages at a steady rate in many sessions; return the seconds of each, sorted."""
    clients = [httpx.AsyncClient(base_url=url, timeout=30) for _ in range(_SESSIONS)]
    for client in clients:
        await sign_in(client, KEY)
    paths = [_CONSOLE + path for path in _PAGES.values()]

    async def load(number: int) -> float:
        began = time.perf_counter()
        answer = await clients[number % _SESSIONS].get(paths[number % len(paths)])
        assert answer.status_code == 200, answer.text
        return time.perf_counter() - began

    async with asyncio.TaskGroup() as tasks:
        loads = []
        for number in range(seconds * _LOADS_A_SECOND):
            loads.append(tasks.create_task(load(number)))
            await asyncio.sleep(1 / _LOADS_A_SECOND)
    for client in clients:
        await client.aclose()
    return sorted(load.result() for load in loads)


def _fill(folder: Path, memories: int, seconds: int) -> None:
    """Fill a bank behind a live server; read from it as many do, where `seconds` are given."""
    with live_server(folder, MEMORY_BANK_EMBEDDER="hash") as server:
        began = time.monotonic()
        fill(url_of(folder / FOLDER / SOCKETS), memories, of_memory=1)
        print(f"{memories:,} memories, written in {time.monotonic() - began:.0f} s")
        if seconds:
            took = asyncio.run(_loads(server.url, seconds))
            p50, late = 1_000 * took[len(took) // 2], 1_000 * p99(took)
            print(
                f"  {_SESSIONS} sessions, {_LOADS_A_SECOND} loads a second:"
                f" p50 {p50:.0f} ms, p99 {late:.0f} ms"
            )


def _of_bank(memories: int, asked: argparse.Namespace) -> tuple[bool, _Walks]:
    """Fill a bank and measure it; return whether its bars are kept, and the walks."""
    with data_folder() as folder:
        _fill(folder, memories, asked.seconds)
        measured: list[tuple[bool, _Walks]] = []

        async def measure() -> None:
            measured.append(await _measure(folder, asked))

        run(measure)
        return measured[0]


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="How long the console's pages take.")
    parser.add_argument("--memories", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--repeats", type=int, default=20, help="loads of each first page")
    parser.add_argument("--pages", type=int, default=1_000, help="pages of a list that are read")
    parser.add_argument("--seconds", type=int, default=20, help="of many sessions")
    asked = parser.parse_args()
    with unread_logs():
        found = [_of_bank(memories, asked) for memories in asked.memories]
    is_kept = all(is_kept for is_kept, _ in found)
    (_, smallest), (_, largest) = found[0], found[-1]
    for name in _LISTS:
        for page, (small, large) in zip(
            ("first", "last"), zip(smallest[name], largest[name], strict=True), strict=True
        ):
            is_kept &= large <= _RATIO * small
            print(f"  {name}, {page} page: {large / small:.2f} times that of the smallest bank")
    print(f"  bars: {_OWN_MS} ms, {_RATIO} times: {'kept' if is_kept else 'MISSED'}")
    sys.exit(0 if is_kept else 1)


if __name__ == "__main__":
    main()
