"""Detection of clients that do not read their answer."""

import asyncio
import socket
from collections.abc import Callable

_KEPT_BYTES = 128 * 1024
"""Limit for unsent bytes in the system's buffer, which otherwise may hold megabytes."""


class Unsent:
    """The unsent rest of an answer; no data may be added while it is watched.

    Args:
        transport: the transport of the connection.
        seconds: the longest time in which a client reads none of it.
        give_up: called once that time has passed.
    """

    def __init__(
        self, transport: asyncio.Transport, seconds: float, give_up: Callable[[], None]
    ) -> None:
        self._transport = transport
        self._seconds = seconds
        self._give_up = give_up
        self._left = 0
        self._timer: asyncio.TimerHandle | None = None
        _limit_buffer(transport)

    def watch(self) -> None:
        """Watch the unsent rest from now on, until it is sent."""
        self.stop()
        self._left = self._transport.get_write_buffer_size()
        if self._left:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._seconds, self._check_progress)

    def stop(self) -> None:
        """Stop watching."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def end(self) -> None:
        """Stop watching and drop references, because the connection is closed."""
        self.stop()
        self._give_up = _nothing

    def _check_progress(self) -> None:
        if self._transport.get_write_buffer_size() < self._left:
            self.watch()
        else:
            self._give_up()


def _nothing() -> None:
    pass


def _limit_buffer(transport: asyncio.Transport) -> None:
    """Limit the system's buffer; a large one would hide the client's progress."""
    connection = transport.get_extra_info("socket")
    is_tcp = connection.family in {socket.AF_INET, socket.AF_INET6}
    if is_tcp and hasattr(socket, "TCP_NOTSENT_LOWAT"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _KEPT_BYTES)
