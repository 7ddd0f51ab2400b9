"""Watches whether a client takes its answer."""

import asyncio
import socket
from collections.abc import Callable

_KEPT_BYTES = 128 * 1024
"""Of an answer in the system's buffer, which may otherwise take megabytes that nobody reads."""


class Unsent:
    """What is left of an answer; while it is watched, nothing may be added to it.

    Args:
        seconds: how long a client may take nothing of it.
        give_up: called where the client has not.
    """

    def __init__(
        self, transport: asyncio.Transport, seconds: float, give_up: Callable[[], None]
    ) -> None:
        self._transport = transport
        self._seconds = seconds
        self._give_up = give_up
        self._left = 0
        self._timer: asyncio.TimerHandle | None = None
        _keep_little(transport)

    def watch(self) -> None:
        """Watch what is left from now on, until all is taken."""
        self.stop()
        self._left = self._transport.get_write_buffer_size()
        if self._left:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._seconds, self._look)

    def stop(self) -> None:
        """Watch no longer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def end(self) -> None:
        """Watch never again, and refer to nobody: the connection is closed."""
        self.stop()
        self._give_up = _nothing

    def _look(self) -> None:
        if self._transport.get_write_buffer_size() < self._left:
            self.watch()
        else:
            self._give_up()


def _nothing() -> None:
    pass


def _keep_little(transport: asyncio.Transport) -> None:
    """Make the system's buffer small, so that it can be seen how much a client takes."""
    connection = transport.get_extra_info("socket")
    is_tcp = connection.family in {socket.AF_INET, socket.AF_INET6}
    if is_tcp and hasattr(socket, "TCP_NOTSENT_LOWAT"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _KEPT_BYTES)
