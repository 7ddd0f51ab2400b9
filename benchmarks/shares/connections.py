"""The largest part of the connections that one process takes on a busy machine."""

import asyncio
import multiprocessing
import time
from contextlib import ExitStack
from multiprocessing.context import ForkProcess
from socket import create_connection, create_server, socket
from statistics import median

from typing_extensions import override

from app.adapters.uvicorn.sharing import Acceptor, ConnectionShare, ConnectionShares

_PROCESSES = 4
_CONNECTIONS = 16
_BAR = 8
"""Twice the even part."""
_BUSY_SECONDS = 0.005
"""Work of a request, in which an event loop accepts nothing."""
_START_SECONDS = 0.2


class _Greeting(asyncio.Protocol):
    """Sends the number of the process that has the connection."""

    def __init__(self, number: int, taken: list[asyncio.BaseTransport]) -> None:
        self._number = number
        self._taken = taken

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._taken.append(transport)
        transport.write(bytes([self._number]))


def show_connections(rounds: int) -> bool:
    """Print how many of the connections one process takes; return True if the bar is kept."""
    most = [_largest_part() for _ in range(rounds)]
    is_kept = median(most) <= _BAR
    print(f"\nof {_CONNECTIONS} connections to {_PROCESSES} processes, all but one busy, one has")
    print(f"  {'':<28}{'median':>8}{'most':>8}{'bar':>8}")
    said = "kept" if is_kept else "MISSED"
    print(f"  {'at most':<28}{median(most):>8.1f}{max(most):>8}{_BAR:>8} {said}")
    return is_kept


def _largest_part() -> int:
    shares = ConnectionShares(_PROCESSES)
    fork = multiprocessing.get_context("fork")
    with ExitStack() as opened:
        listener = opened.enter_context(create_server(("127.0.0.1", 0), backlog=64))
        for number in range(_PROCESSES):
            process = fork.Process(target=_serve, args=(listener, shares, number))
            process.start()
            opened.callback(_end, process)
        time.sleep(_START_SECONDS)
        connections = [
            opened.enter_context(create_connection(listener.getsockname()))
            for _ in range(_CONNECTIONS)
        ]
        numbers = [connection.recv(1) for connection in connections]
    return max(map(numbers.count, numbers))


def _serve(listener: socket, shares: ConnectionShares, number: int) -> None:
    asyncio.run(_accept_busily(listener, ConnectionShare(shares, number)))


async def _accept_busily(listener: socket, share: ConnectionShare) -> None:
    """Accept connections, in all processes but one between pieces of work for the processor."""
    taken: list[asyncio.BaseTransport] = []
    share.shares.note(share.number, 0)
    Acceptor(listener, lambda: _Greeting(share.number, taken), share, lambda: len(taken))
    if share.number == 0:
        await asyncio.Event().wait()
    while True:
        ends = time.perf_counter() + _BUSY_SECONDS
        while time.perf_counter() < ends:
            pass
        await asyncio.sleep(0)


def _end(process: ForkProcess) -> None:
    process.kill()
    process.join()
