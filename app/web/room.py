"""Room for connections: so many at once; who has waited the longest makes room for another."""

from typing import Generic, Protocol, TypeVar

from starlette.types import Scope

from app.kernel.errors import Reason, Unavailable

RESERVED = "reserved"
"""In the state of a request: it came on a connection of the reserve."""
_LINGERING = 32
"""Connections that may do so where the rooms are full; else as many more as there is room for."""
_RECENT_SECONDS = 1.0
"""Who has waited for less has just come, or just had an answer, and is about to ask."""


class _Occupant(Protocol):
    def make_room(self) -> None:
        """Be gone."""
        ...


_C = TypeVar("_C", bound=_Occupant)


class GivingUp(Protocol):
    """Ends the request of a caller who has many bodies under way."""

    def __call__(self, *, slow: bool) -> bool:
        """End one, of the slow ones or of all; say whether there was one."""
        ...


class Room(Generic[_C]):
    """A part of the connections that may be open.

    Args:
        size: how many.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._inside: set[_C] = set()
        self._waiting: dict[_C, float] = {}
        """Since when; the longest first."""

    @property
    def free(self) -> int:
        """How many may enter before another must leave."""
        return max(0, self._size - len(self._inside))

    def enter(self, connection: _C) -> None:
        """Count a connection."""
        self._inside.add(connection)

    def leave(self, connection: _C) -> None:
        """Count a connection no more, if it was."""
        self._inside.discard(connection)
        self._waiting.pop(connection, None)

    def wait(self, connection: _C, now: float) -> None:
        """Note that a connection asks for nothing, from now on."""
        if connection in self._inside:
            self._waiting[connection] = now

    def ask(self, connection: _C) -> None:
        """Note that a connection asks for something."""
        self._waiting.pop(connection, None)

    def displace(self, since: float) -> bool:
        """Have the one leave that waits the longest, if since a moment or longer.

        Returns:
            Whether there was one.
        """
        longest = next(iter(self._waiting), None)
        if longest is None or self._waiting[longest] > since:
            return False
        self.leave(longest)
        longest.make_room()
        return True


class Rooms(Generic[_C]):
    """Where the connections of a process are.

    Args:
        general: how many there may be of any kind.
        reserve: how many more, for one request each of who watches over the service.
        give_up_body: ends the request of a caller who has many bodies under way.
    """

    def __init__(self, general: int, reserve: int, give_up_body: GivingUp) -> None:
        self.general = Room[_C](general)
        self.reserve = Room[_C](reserve)
        self._give_up_body = give_up_body
        self._lingering: dict[_C, None] = {}
        """Those that have their last answer, and count no more; the longest first."""

    def enter(self, connection: _C, now: float) -> Room[_C] | None:
        """Return the room that a connection is in from now on; None: there is none."""
        for room, made in ((self.general, self._make_room), (self.reserve, self.reserve.displace)):
            if room.free or made(now):
                room.enter(connection)
                self._end_lingering()
                return room
        return None

    def _make_room(self, now: float) -> bool:
        """Have one of the general room leave, which may take a moment, if there is any that may."""
        return (
            self._give_up_body(slow=True)
            or self.general.displace(now - _RECENT_SECONDS)
            or self._give_up_body(slow=False)
            or self.general.displace(now)
        )

    def linger(self, connection: _C) -> None:
        """Count a connection no more that is about to be closed."""
        self.leave(connection)
        self._lingering[connection] = None
        self._end_lingering()

    def _end_lingering(self) -> None:
        if len(self._lingering) > _LINGERING + self.general.free + self.reserve.free:
            longest = next(iter(self._lingering))
            del self._lingering[longest]
            longest.make_room()

    def leave(self, connection: _C) -> None:
        """Count a connection no more, wherever it is."""
        self.general.leave(connection)
        self.reserve.leave(connection)
        self._lingering.pop(connection, None)


def is_reserved(scope: Scope) -> bool:
    """Say whether a request came on a connection of the reserve."""
    return RESERVED in scope.get("state", {})


def no_room() -> Unavailable:
    """Return what says that too many are connected."""
    error = Unavailable(
        "As many connections are open as this process takes.",
        Reason.TOO_MANY_CONNECTIONS,
        retry_after_seconds=1,
    )
    error.ends_connection = True
    return error
