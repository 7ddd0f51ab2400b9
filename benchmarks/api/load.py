"""Requests over several connections at once, from a process of its own."""

import asyncio
import itertools
import json
import multiprocessing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from time import perf_counter, time_ns

COUNTED = "00000000"
"""What stands for the number of a request, in those that shall differ."""


@dataclass(frozen=True)
class Asked:
    """A request that is sent again and again."""

    method: str
    path: str
    body: dict[str, object] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def raw(self, secret: str) -> bytes:
        """Return it as it goes over the wire."""
        content = b"" if self.body is None else json.dumps(self.body).encode()
        lines = [
            f"{self.method} {self.path} HTTP/1.1",
            "Host: bank",
            f"Authorization: Bearer {secret}",
            f"Content-Length: {len(content)}",
            *(f"{name}: {value}" for name, value in self.headers.items()),
        ]
        if content:
            lines.append("Content-Type: application/json")
        return "\r\n".join([*lines, "", ""]).encode() + content


class Loader:
    """The other process."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    def per_second(self, asked: Asked, connections: int, seconds: float) -> tuple[int, float]:
        """Ask for so long; return how many were answered, and the seconds it took.

        Raises:
            RuntimeError: an answer was not 200.
        """
        self._pipe.send((asked, connections, seconds))
        found, failure = self._pipe.recv()
        if failure:
            raise RuntimeError(failure)
        count, took = found
        return count, took


@contextmanager
def loader(port: int, secret: str) -> Iterator[Loader]:
    """Start the other process."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, port, secret))
    process.start()
    try:
        yield Loader(here)
    finally:
        here.send(None)
        process.join()


def _serve(pipe: Pipe, port: int, secret: str) -> None:
    while (order := pipe.recv()) is not None:
        asked, connections, seconds = order
        try:
            pipe.send((asyncio.run(_load(port, asked.raw(secret), connections, seconds)), None))
        except RuntimeError as error:
            pipe.send((None, str(error)))


async def _load(port: int, raw: bytes, connections: int, seconds: float) -> tuple[int, float]:
    began = perf_counter()
    until = began + seconds
    numbers = itertools.count(time_ns() % 10_000_000)
    counts = await asyncio.gather(*(_ask(port, raw, until, numbers) for _ in range(connections)))
    return sum(counts), perf_counter() - began


async def _ask(port: int, raw: bytes, until: float, numbers: Iterator[int]) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    count = 0
    while perf_counter() < until:
        writer.write(raw.replace(COUNTED.encode(), b"%08d" % next(numbers)))
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].split(None, 1)[0])
        answer = await reader.readexactly(length)
        if not head.startswith(b"http/1.1 200"):
            raise RuntimeError(f"{head.decode()} {answer.decode()}")
        count += 1
    writer.close()
    return count
