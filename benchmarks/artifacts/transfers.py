"""Uploads and downloads of one artifact: how long they take, and how much memory of the server.

The server is started as users start it, with its worker and its Postgres; the bytes are random, so
that nothing can be compressed, and sent over a socket in pieces. Where they are words, the worker
cuts these into pieces meanwhile: that is waited for, and its memory counts. What is told of memory
is the resident set of the server's process, read from the kernel every few milliseconds while bytes
are on their way, less what it was before; Postgres is another process, and its memory is not in it.
"""

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import httpx

from benchmarks.surroundings import data_folder
from tests.support.live import KEY, LiveServer, live_server

_MIB = 1024**2
_PIECE_BYTES = 64 * 1024
_LOOK_SECONDS = 0.005
_PATH = "/v1beta1/reasoningEngines/1/taskMemories/bench/namespaces/n/artifacts/"


def _resident(pid: int) -> int:
    """Return the bytes of a process that are in memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@dataclass
class _Took:
    """What a transfer took: seconds, and bytes of memory beyond those of before."""

    seconds: float
    growth: int


def _measured(pid: int, work: Callable[[], None]) -> _Took:
    """Run some work, and look meanwhile how much memory a process has."""
    before = most = _resident(pid)
    ended = threading.Event()

    def look() -> None:
        nonlocal most
        while not ended.wait(_LOOK_SECONDS):
            most = max(most, _resident(pid))

    looking = threading.Thread(target=look)
    looking.start()
    began = time.perf_counter()
    try:
        work()
    finally:
        seconds = time.perf_counter() - began
        ended.set()
        looking.join()
    return _Took(seconds, most - before)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            yield piece


def _written(source: Path, size: int, *, is_text: bool) -> None:
    """Write what is to be sent."""
    with source.open("wb") as file:
        while file.tell() < size:
            if is_text:
                words = os.urandom(_MIB // 5).hex()
                line = " ".join(words[at : at + 4] for at in range(0, len(words), 4))
                file.write(line.encode()[: size - file.tell()])
            else:
                file.write(os.urandom(_MIB))


def _transfers(
    server: LiveServer, source: Path, rounds: int, media_type: str
) -> tuple[list[_Took], list[_Took], list[_Took]]:
    """Send and fetch the same bytes, round by round, under another name each time."""
    size = source.stat().st_size
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": media_type}
    up, indexed, down = [], [], []
    with httpx.Client(base_url=server.url + _PATH, headers=headers, timeout=600) as client:

        def send(name: str) -> None:
            length = {"Content-Length": str(size)}
            client.put(name, content=_pieces(source), headers=length).raise_for_status()

        def fetch(name: str) -> None:
            found = hashlib.sha256()
            with client.stream("GET", f"{name}/content") as answer:
                answer.raise_for_status()
                for piece in answer.iter_bytes():
                    found.update(piece)
            assert found.digest() == digest, "other bytes have come back"

        def wait(name: str) -> None:
            while client.get(name).raise_for_status().json()["state"] != "ready":
                time.sleep(0.1)

        # What a process takes once for all is no part of what a transfer takes.
        client.put("first", content=b"\x00" * _MIB).raise_for_status()
        client.get("first/content").raise_for_status()
        for turn in range(rounds):
            name = f"a-{turn}"
            up.append(_measured(server.process.pid, lambda name=name: send(name)))  # type: ignore[misc]  # bound here
            indexed.append(_measured(server.process.pid, lambda name=name: wait(name)))  # type: ignore[misc]  # as above
            down.append(_measured(server.process.pid, lambda name=name: fetch(name)))  # type: ignore[misc]  # as above
            client.delete(name).raise_for_status()
    return up, indexed, down


_ROWS = 10_000
_ROW_SCHEMA = {
    "type": "object",
    "properties": {"item": {"type": "string"}, "unitPrice": {"type": "number"}},
    "required": ["item", "unitPrice"],
}


def _extracted(server: LiveServer, folder: Path, size: int, rounds: int) -> list[_Took]:
    """Extract all rows of a CSV file, off the prompt, without a model."""
    source = folder / "table.csv"
    width = size // _ROWS - 40
    with source.open("w") as file:
        file.write("Item,Unit Price,Note\n")
        for number in range(_ROWS):
            words = os.urandom(width // 2).hex()
            file.write(f"item {number},{number}.5,{words}\n")
    headers = {"Authorization": f"Bearer {KEY}"}
    path = _PATH.replace("namespaces/n/artifacts/", "namespaces/rows")
    length = {"Content-Length": str(source.stat().st_size), "Content-Type": "text/csv"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=600) as client:
        table = f"{path}/artifacts/table"
        client.put(table, content=_pieces(source), headers=length).raise_for_status()
        while client.get(table).raise_for_status().json()["state"] != "ready":
            time.sleep(0.1)
        body = {"schema": _ROW_SCHEMA, "offPrompt": True, "maxRows": _ROWS}
        # What a process takes once for all is no part of what an extraction takes.
        first = {**body, "offPrompt": False, "maxRows": 1}
        client.post(f"{path}:extract", json=first).raise_for_status()

        def extract(turn: int) -> None:
            answer = client.post(f"{path}:extract", json={**body, "as": f"rows-{turn}"})
            assert answer.raise_for_status().json()["rowCount"] == _ROWS

        return [_measured(server.process.pid, partial(extract, turn)) for turn in range(rounds)]


def _tell(what: str, took: list[_Took], size: int) -> None:
    seconds = median(one.seconds for one in took)
    growth = max(one.growth for one in took)
    print(
        f"{what:18} {size / _MIB:5.0f} MiB  {seconds:6.2f} s  {size / _MIB / seconds:7.1f} MiB/s"
        f"  memory +{growth / _MIB:5.1f} MiB at most"
    )


def measure(mebibytes: int, rounds: int, *, is_text: bool) -> None:
    """Measure, and tell."""
    with data_folder() as folder:
        source, size = folder / "source", mebibytes * _MIB
        _written(source, size, is_text=is_text)
        media_type = "text/plain" if is_text else "application/octet-stream"
        with live_server(folder, MEMORY_BANK_EMBEDDER="hash") as server:
            up, indexed, down = _transfers(server, source, rounds, media_type)
            rows = _extracted(server, folder, size, rounds)
        _tell("upload", up, size)
        if is_text:
            _tell("indexing", indexed, size)
        _tell("download", down, size)
        _tell("10,000 rows of CSV", rows, size)
