"""Connection slots, bounded in number, and clients that hold one without reading their answer."""

import asyncio
import socket
from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from app.kernel.errors import Reason, Unavailable

RESERVED = "reserved"
"""The key in a request's state that marks a connection of the reserve."""
_LINGERING = 32
"""Lingering connections allowed when all slots are taken; free slots allow more."""
_RECENT_SECONDS = 1.0
"""Shortest wait before displacement; below it, a connection is new or about to send a request."""
_KEPT_BYTES = 128 * 1024
"""Limit for unsent bytes in the system's buffer, which otherwise may hold megabytes."""


class _Occupant(Protocol):
    def make_room(self) -> None: ...


_C = TypeVar("_C", bound=_Occupant)


class GivingUp(Protocol):
    """A function that ends the request of a caller with many open bodies."""

    def __call__(self, *, slow: bool) -> bool:
        """End one request, slow or any; return False if there is none."""
        ...


class Room(Generic[_C]):
    """A pool of connection slots."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._inside: set[_C] = set()
        self._waiting: dict[_C, float] = {}
        """Waiting connections with the start of their wait; the longest first."""

    @property
    def free(self) -> int:
        """The number of free slots."""
        return max(0, self._size - len(self._inside))

    def enter(self, connection: _C) -> None:
        """Give a connection a slot."""
        self._inside.add(connection)

    def leave(self, connection: _C) -> None:
        """Free the slot of a connection, if it has one."""
        self._inside.discard(connection)
        self._waiting.pop(connection, None)

    def wait(self, connection: _C, now: float) -> None:
        """Record that a connection waits for a request from now on."""
        if connection in self._inside:
            self._waiting[connection] = now

    def ask(self, connection: _C) -> None:
        """Record that a connection has a request."""
        self._waiting.pop(connection, None)

    def displace(self, since: float) -> bool:
        """Displace the longest waiting connection if it has waited since then; True if it had."""
        longest = next(iter(self._waiting), None)
        if longest is None or self._waiting[longest] > since:
            return False
        self.leave(longest)
        longest.make_room()
        return True


class Rooms(Generic[_C]):
    """The connection slots of a process.

    Args:
        general: the number of slots for any connection.
        reserve: the number of further slots, for one request each, meant for operators.
        give_up_body: ends the request of a caller with many open bodies.
    """

    def __init__(self, general: int, reserve: int, give_up_body: GivingUp) -> None:
        self.general = Room[_C](general)
        self.reserve = Room[_C](reserve)
        self._give_up_body = give_up_body
        self._lingering: dict[_C, None] = {}
        """Connections after their last answer, which occupy no slot; the oldest first."""

    def enter(self, connection: _C, now: float) -> Room[_C] | None:
        """Return the room that admits a connection; None if all are full."""
        for room, made in ((self.general, self._make_room), (self.reserve, self.reserve.displace)):
            if room.free or made(now):
                room.enter(connection)
                self._end_lingering()
                return room
        return None

    def _make_room(self, now: float) -> bool:
        return (
            self._give_up_body(slow=True)
            or self.general.displace(now - _RECENT_SECONDS)
            or self._give_up_body(slow=False)
            or self.general.displace(now)
        )

    def linger(self, connection: _C) -> None:
        """Free the slot of a connection that is about to close."""
        self.leave(connection)
        self._lingering[connection] = None
        self._end_lingering()

    def _end_lingering(self) -> None:
        if len(self._lingering) > _LINGERING + self.general.free + self.reserve.free:
            longest = next(iter(self._lingering))
            del self._lingering[longest]
            longest.make_room()

    def leave(self, connection: _C) -> None:
        """Free the slot of a connection, in any room."""
        self.general.leave(connection)
        self.reserve.leave(connection)
        self._lingering.pop(connection, None)


def is_reserved(scope: Mapping[str, Any]) -> bool:
    """Return True if a request came on a connection of the reserve."""
    return RESERVED in scope.get("state", {})


def no_room() -> Unavailable:
    """Return the error for too many connections."""
    error = Unavailable(
        "The process has reached its limit of open connections.",
        Reason.TOO_MANY_CONNECTIONS,
        retry_after_seconds=1,
    )
    error.ends_connection = True
    return error


class Unsent:
    """The unsent rest of an answer; no data may be added while it is watched.

    `give_up` is called once a client has read none of it for `seconds`.
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
