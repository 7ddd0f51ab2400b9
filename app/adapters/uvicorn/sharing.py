"""A listening socket shared by several processes, which balance its connections.

A new connection wakes all processes; one that accepted all would then do all the work, since
connections stay open. So each process accepts one at a time, and first waits, 20 ms at most, while
others have fewer connections.
"""

import asyncio
import mmap
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from socket import IPPROTO_TCP, TCP_NODELAY, socket

import structlog

from app.adapters.concurrency import consume_exception

log = structlog.get_logger()

_LEFT_SECONDS = (0.002, 0.006, 0.012)
"""Pauses for which a connection is left to processes with fewer connections, 20 ms in all.

After each of them the counts are compared again: on a busy machine the other processes need more
than the first pause before they run. The number of comparisons is fixed, and not the time, so that
a process whose own event loop was late still leaves the others a pause.
"""
_FULL_SECONDS = 1.0
"""Pause after the system refused a connection for lack of file descriptors or memory."""
_NONE = 0xFFFF_FFFF
"""The count of a process that does not run; the largest, so that no process waits for it."""


class ConnectionShares:
    """The connection counts of all processes, in shared memory."""

    def __init__(self, count: int) -> None:
        self._counts = memoryview(mmap.mmap(-1, 4 * count)).cast("I")
        for number in range(count):
            self.leave(number)

    def note(self, number: int, connections: int) -> bool:
        """Record a process's number of connections; return True if no other has fewer."""
        self._counts[number] = connections
        return connections <= min(self._counts)

    def leave(self, number: int) -> None:
        """Record that a process has ended."""
        self._counts[number] = _NONE


@dataclass(frozen=True)
class ConnectionShare:
    """The share of one process."""

    shares: ConnectionShares
    number: int

    def note(self, connections: int) -> bool:
        """Record the number of connections; return True if no other process has fewer."""
        return self.shares.note(self.number, connections)

    def leave(self) -> None:
        """Record that the process has ended."""
        self.shares.leave(self.number)


class Acceptor:
    """The acceptance of connections in one process; closed like a server of asyncio."""

    def __init__(
        self,
        listener: socket,
        factory: Callable[[], asyncio.Protocol],
        share: ConnectionShare,
        count: Callable[[], int],
    ) -> None:
        self._listener = listener
        self._factory = factory
        self._share = share
        self._count = count
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        self._opening: set[asyncio.Task[object]] = set()
        listener.setblocking(False)
        self._look()

    def _look(self) -> None:
        self._loop.add_reader(self._listener, self._come)

    def _come(self) -> None:
        if self._has_fewest():
            self._take()
        else:
            self._leave(0)

    def _has_fewest(self) -> bool:
        return self._share.note(self._count() + len(self._opening))

    def _leave(self, pause: int) -> None:
        self._rest(_LEFT_SECONDS[pause], partial(self._look_again, pause + 1))

    def _look_again(self, pauses: int) -> None:
        if not self._has_fewest() and pauses < len(_LEFT_SECONDS):
            self._leave(pauses)
        else:
            self._look()
            self._take()

    def _rest(self, seconds: float, then: Callable[[], None]) -> None:
        self._loop.remove_reader(self._listener)
        self._pause = self._loop.call_later(seconds, then)

    def _take(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            # Another process has taken it, or its client has gone.
            return
        except OSError as error:
            log.error("server.accept_failed", error=error.strerror)  # noqa: TRY400 - the reason is in the line
            self._rest(_FULL_SECONDS, self._look)
            return
        connection.setblocking(False)
        connection.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        opening = self._loop.connect_accepted_socket(self._factory, connection)
        task = self._loop.create_task(opening)
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)
        task.add_done_callback(consume_exception)

    def close(self) -> None:
        """Accept no more connections."""
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._listener)
        self._share.leave()
        self._listener.close()

    async def wait_closed(self) -> None:
        """Return at once, because the server waits for open connections itself."""
