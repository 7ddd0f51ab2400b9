"""Clients that hold the bodies of their requests: what they send is slow, and never whole.

They run in a process of their own, so that they do not hold up those who look how others fare.
"""

import asyncio
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from threading import Thread

from typing_extensions import override

from tests.support.sockets import request

_REASON = re.compile(rb'"reason":\s*"(\w+)"')
_PAUSE_SECONDS = 1.0
_AGAIN_SECONDS = 0.2
_END_SECONDS = 20


@dataclass(frozen=True)
class Holding:
    """What clients do.

    Attributes:
        port: of the server, on this machine.
        count: how many connections there are at a time.
        head: of each request.
        length: how much of the body is sent at once.
        piece: how much more of it every second.
        again: whether one that was closed is replaced.
    """

    port: int
    count: int
    head: str
    length: int
    piece: int = 0
    again: bool = False


class _Client(asyncio.Protocol):
    def __init__(self, holding: Holding) -> None:
        self.is_closed = asyncio.get_running_loop().create_future()
        self._holding = holding
        self._answer = b""
        self._timer: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # it is one
        self._transport = transport
        transport.write(self._holding.head.encode() + b" " * self._holding.length)
        self._go_on_later()

    def _go_on_later(self) -> None:
        if self._holding.piece:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_PAUSE_SECONDS, self._go_on)

    def _go_on(self) -> None:
        self._transport.write(b" " * self._holding.piece)
        self._go_on_later()

    @override
    def data_received(self, data: bytes) -> None:
        self._answer += data

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        # What the end of the block cut off is no answer: it may lack its body.
        if self._answer and not self.is_closed.cancelled():
            reason = _REASON.search(self._answer)
            status = self._answer.split(b" ", 2)[1].decode()
            print(status, reason[1].decode() if reason else "", flush=True)
        if not self.is_closed.done():
            self.is_closed.set_result(None)


async def _hold(holding: Holding) -> None:
    loop = asyncio.get_running_loop()
    is_first = True
    while is_first or holding.again:
        if not is_first:
            await asyncio.sleep(_AGAIN_SECONDS)
        is_first = False
        with suppress(OSError):
            transport, client = await loop.create_connection(
                lambda: _Client(holding), "127.0.0.1", holding.port
            )
            try:
                await client.is_closed
            finally:
                transport.abort()


async def _run(holding: Holding) -> None:
    tasks = [asyncio.create_task(_hold(holding)) for _ in range(holding.count)]
    await asyncio.to_thread(sys.stdin.read)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _count(lines: Iterable[str], told: Counter[str]) -> None:
    for line in lines:
        told[line.strip()] += 1


@contextmanager
def held(holding: Holding) -> Iterator[Counter[str]]:
    """Have clients hold bodies while the block runs; what they are told is counted meanwhile.

    Yields:
        Their answers, by status and reason, such as `429 TOO_MANY_AT_ONCE`; all of them are there
        after the block.
    """
    command = [sys.executable, "-m", __name__, json.dumps(asdict(holding))]
    told: Counter[str] = Counter()
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        counting = Thread(target=_count, args=(process.stdout, told))
        counting.start()
        try:
            yield told
        finally:
            process.stdin.close()
            process.wait(_END_SECONDS)
            counting.join()


def head_of(path: str, key: str, length: int) -> str:
    """Return the head of a request whose body is to have a length."""
    headers = (f"Authorization: Bearer {key}", "Content-Type: application/json")
    return request(path, *headers, f"Content-Length: {length}", method="POST").decode()


if __name__ == "__main__":
    asyncio.run(_run(Holding(**json.loads(sys.argv[1]))))
