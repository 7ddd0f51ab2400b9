"""How long pages of the console take, by the bank's size: `python -m benchmarks.console.pages`.

A page is asked for in this process, one request after another. Its own time is the console's: the
time in which its calls of the API are under way is taken off. CPU time is that of this process and
of Postgres. Lists are read page by page, as by an administrator who clicks on "Older". Then many
sessions read pages at a steady rate from a live server.

It exits with 1 if a bar is missed.
"""

import argparse
import asyncio
import os
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
from benchmarks.peers.cpu import spent_by
from benchmarks.processes import below
from benchmarks.surroundings import data_folder, unread_logs
from tests.support.console import browser, sign_in
from tests.support.heavy import p99
from tests.support.live import KEY, live_server
from tests.support.scripted_models import ScriptedEmbedder

_PAGES = {
    "overview": "",
    "memories": "/memories",
    "revisions": "/revisions",
    "deleted": "/deleted",
    "memory": "/memories/m7",
}
_LISTS = ("memories", "revisions")
_CONSOLE = "/console/e/1"
_OWN_MS, _RATIO, _CPU_RATIO = 100, 2, 1.2
_AROUND = 20
"""Single pages vary, so the median of so many stands for one."""
_OLDER = re.compile(r'<a [^>]*href="([^"]+)" rel="next"')
_SESSIONS, _LOADS_A_SECOND = 50, 20


@dataclass
class _Found:
    """What was measured in a bank.

    Attributes:
        is_kept: no page takes too much time of its own.
        cpu: by the page, the milliseconds of CPU of its first page.
        walks: by the list, the milliseconds of its first page and of its last.
    """

    is_kept: bool
    cpu: dict[str, float]
    walks: dict[str, tuple[float, float]]


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

    async def first_pages(self, repeats: int) -> tuple[bool, dict[str, float]]:
        """Time the first page of each screen; return whether bars are kept, and the CPU time."""
        is_kept, cpu = True, {}
        for name, path in _PAGES.items():
            await self.read(_CONSOLE + path)
            began = _cpu_seconds()
            loads = [await self.read(_CONSOLE + path) for _ in range(repeats)]
            cpu[name] = 1_000 * (_cpu_seconds() - began) / repeats
            whole, own = (
                median(each) for each in zip(*((x.whole, x.own) for x in loads), strict=True)
            )
            is_kept &= own <= _OWN_MS
            size = len(loads[0].text.encode())
            print(f"  {name:<12}{whole:>9.1f}{own:>9.1f}{cpu[name]:>9.1f}{size:>11,}")
        return is_kept, cpu

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


def _cpu_seconds() -> float:
    """Return what this process and those below it have spent: the service and Postgres."""
    return sum(map(spent_by, [os.getpid(), *below(os.getpid())]))


async def _measure(folder: Path, asked: argparse.Namespace) -> _Found:
    settings = Settings(data_dir=folder, admin_key=KEY, embedder=EmbedderChoice.HASH)
    async with open_process(settings) as found:
        app = create_app(replace(found.resources, embedder=ScriptedEmbedder()))
        app.add_middleware(_Stopwatch)
        async with browser(app) as client:
            await sign_in(client, KEY)
            reader = _Reader(client)
            print(
                "  {:<12}{:>9}{:>9}{:>9}{:>11}".format(
                    "first page", "p50 ms", "own ms", "CPU ms", "bytes"
                )
            )
            measured = _Found(*await reader.first_pages(asked.repeats), {})
            for name in _LISTS:
                first, last, count = await reader.walk(name, asked.pages)
                measured.walks[name] = (first, last)
                print(f"  {name}: page 1 {first:.1f} ms, page {count:,} {last:.1f} ms")
    return measured


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


def _of_bank(memories: int, asked: argparse.Namespace) -> _Found:
    """Fill a bank and measure it."""
    with data_folder() as folder:
        _fill(folder, memories, asked.seconds)
        measured: list[_Found] = []

        async def measure() -> None:
            measured.append(await _measure(folder, asked))

        run(measure)
        return measured[0]


def _compare(smallest: _Found, largest: _Found) -> bool:
    """Print what a large bank costs more than a small one; return True if bars are kept."""
    is_kept = True
    for name, small in smallest.cpu.items():
        ratio = largest.cpu[name] / small
        is_kept &= ratio <= _CPU_RATIO
        print(f"  {name}, CPU: {ratio:.2f} times that of the smallest bank (bar {_CPU_RATIO})")
    for name in _LISTS:
        pages = zip(smallest.walks[name], largest.walks[name], strict=True)
        for page, (small, large) in zip(("first", "last"), pages, strict=True):
            is_kept &= large <= _RATIO * small
            print(f"  {name}, {page} page: {large / small:.2f} times (bar {_RATIO})")
    return is_kept


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="How long the console's pages take.")
    parser.add_argument("--memories", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument("--repeats", type=int, default=50, help="loads of each first page")
    parser.add_argument("--pages", type=int, default=1_000, help="pages of a list that are read")
    parser.add_argument("--seconds", type=int, default=20, help="of many sessions")
    asked = parser.parse_args()
    with unread_logs():
        found = [_of_bank(memories, asked) for memories in asked.memories]
    is_kept = _compare(found[0], found[-1]) and all(each.is_kept for each in found)
    print(f"  bars: {_OWN_MS} ms of its own and those above: {'kept' if is_kept else 'MISSED'}")
    sys.exit(0 if is_kept else 1)


if __name__ == "__main__":
    main()
