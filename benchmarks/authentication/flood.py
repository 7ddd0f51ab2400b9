"""Bad keys in an open loop: a process of its own that asks on, whatever the server answers."""

import asyncio
import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from multiprocessing.connection import Connection as Pipe
from secrets import token_urlsafe

from app.platform.access.logic import check_sum, mint
from benchmarks.authentication.client import Connection

PER_SECOND = 200
_REFUSED = 401


def _garbage() -> str:
    """Return what no key looks like."""
    return token_urlsafe(32)


def _mistyped() -> str:
    """Return what looks like a key, but for its check sum."""
    body = mint()[:-6]
    return body + check_sum(body + "x")


KINDS: dict[str, tuple[Callable[[], str], ...]] = {
    "garbage": (_garbage,),
    "wrong check sums": (_mistyped,),
    # Only the database can tell these from keys.
    "unknown keys": (mint,),
    "all three in turn": (_garbage, _mistyped, mint),
}
"""What a flood is made of; never the same secret twice."""


class Flooder:
    """The other process."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    @contextmanager
    def flood(self, kind: str) -> Iterator[None]:
        """Send bad keys beside the block.

        Raises:
            RuntimeError: the server let one in, or did not keep up with them.
        """
        self._pipe.send(kind)
        self._pipe.recv()
        yield
        self._pipe.send(None)
        sent, statuses = self._pipe.recv()
        refused = statuses.pop(_REFUSED, 0)
        if statuses or refused < 0.95 * sent:
            raise RuntimeError(f"Of {sent} bad keys {refused} were refused; else: {statuses}.")


@contextmanager
def flooder(port: int, path: str) -> Iterator[Flooder]:
    """Start the other process, which asks for a path."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, port, path))
    process.start()
    try:
        yield Flooder(here)
    finally:
        here.send("")
        process.join()


def _serve(pipe: Pipe, port: int, path: str) -> None:
    while kind := pipe.recv():
        pipe.send(None)
        found = asyncio.run(_Flood(kind, port, path).until(pipe.poll))
        pipe.recv()
        pipe.send(found)


class _Flood:
    """One flood, from its beginning to its end."""

    def __init__(self, kind: str, port: int, path: str) -> None:
        self._makers = KINDS[kind]
        self._port = port
        self._path = path
        self._idle: list[Connection] = []
        self._statuses: Counter[int] = Counter()
        self._asking: set[asyncio.Task[None]] = set()

    async def until(self, is_over: Callable[[], bool]) -> tuple[int, Counter[int]]:
        """Send one after another at its time; return how many, and how they were answered."""
        clock = asyncio.get_running_loop().time
        began = clock()
        for number in count():
            if is_over():
                break
            await asyncio.sleep(began + number / PER_SECOND - clock())
            task = asyncio.create_task(self._ask(self._makers[number % len(self._makers)]()))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
        sent = number
        await asyncio.gather(*self._asking)
        for connection in self._idle:
            connection.close()
        return sent, self._statuses

    async def _ask(self, secret: str) -> None:
        # A connection more wherever all others still wait for their answer.
        connection = self._idle.pop() if self._idle else await Connection.open(self._port)
        self._statuses[await connection.get(self._path, secret)] += 1
        self._idle.append(connection)
