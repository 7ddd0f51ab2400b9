"""Incoming bodies, counted while they arrive, with a limit on slowness.

Only the time spent waiting for the client counts. `app.kernel.limits` decides on the count of each
body and on the limits; this module reports to it and obeys.
"""

import asyncio
from dataclasses import dataclass
from typing import Self

from starlette.types import Message, Receive, Scope

from app.adapters.uvicorn.room import no_room
from app.kernel.auth import Caller
from app.kernel.errors import DeadlineExceeded, Reason, ServiceError
from app.kernel.limits import HeldBody, Limits
from app.web.headers import address_of, header

PIECE_BYTES = 64 * 1024
"""Bytes accounted for a streamed body; other bodies count for more."""
LOOK_SECONDS = 1.0
"""Time between two checks of a body's pace."""
_LOOKS = 5
"""Number of checks over which the pace must suffice."""
_SLACK_LOOKS = 1
"""Additional checks in the measurement: a burst may fall on either side of a check."""
_LATE_SECONDS = 0.5
"""Delay of a check beyond which this process is too slow, not the client."""
_SHORTEST_SECONDS = 0.001


@dataclass(frozen=True)
class BodyPace:
    """The slowest acceptable pace of a body.

    Attributes:
        seconds: the limit for the whole body; for a streamed one, for each piece.
        min_bytes_per_second: the rate after some seconds of slowness; 0: no bound.
    """

    seconds: float
    min_bytes_per_second: int


class Incoming:
    """A body being received; it counts until the end of its `with` block."""

    def __init__(
        self, scope: Scope, receive: Receive, pace: BodyPace, *, is_streamed: bool
    ) -> None:
        declared = header(scope, b"content-length") or b""
        self._declared = int(declared) if declared.isdigit() else 0
        self._limits: Limits = scope["app"].state.gate.limits
        self._caller: Caller | None = scope.get("state", {}).get("caller")
        self._address = address_of(scope) if self._caller is None else None
        self._receive = receive
        self._pace = pace
        self._is_streamed = is_streamed
        self._held: HeldBody | None = None
        self._is_given_up = False
        self._clock: asyncio.Timeout | None = None
        """The timer of the current wait for a message."""
        self._has_ended = False
        self._received = 0
        self._kept = PIECE_BYTES
        """Bytes accounted for; beyond this number, more must be requested."""
        self._waited = 0.0
        self._deadline = pace.seconds
        self._next_look = LOOK_SECONDS
        self._looks = [0]
        """Bytes received at the last checks, a second apart."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def release(self) -> None:
        """Stop counting the body: its content is no longer held."""
        if self._held is not None:
            self._held.release()
            self._held = None

    async def receive(self) -> Message:
        """Return the next message from the server.

        Raises:
            DeadlineExceeded: the body arrives too slowly.
            ResourceExhausted: too many bodies are open, or their total length is too large.
            Unavailable: the connection is needed for others.
        """
        if self._has_ended:
            return await self._receive()
        try:
            held = self._held or self._hold()
            message = await self._next(held)
            self._take(message, held)
        except ServiceError:
            self._stop()
            raise
        return message

    def _stop(self) -> None:
        """Stop receiving, and break reference cycles."""
        self.release()
        self._has_ended = True
        self._receive = _disconnected

    def _hold(self) -> HeldBody:
        self._held = held = self._limits.hold_body(self._caller, self._address, self._give_up)
        if self._is_streamed:
            held.keep(PIECE_BYTES)
        elif self._declared > PIECE_BYTES:
            self._kept = self._declared
            held.keep(self._kept)
        return held

    def _take(self, message: Message, held: HeldBody) -> None:
        self._received += len(message.get("body", b""))
        if self._is_streamed:
            if self._received >= self._kept:
                self._kept = self._received + PIECE_BYTES
                self._deadline = self._waited + self._pace.seconds
        elif self._received > self._kept:
            self._kept = -(-self._received // PIECE_BYTES) * PIECE_BYTES
            held.keep(self._kept)
        if not message.get("more_body"):
            self._has_ended = True
            held.end()

    async def _next(self, held: HeldBody) -> Message:
        loop = asyncio.get_running_loop()
        while not self._is_given_up:
            seconds = max(min(self._next_look, self._deadline) - self._waited, _SHORTEST_SECONDS)
            began = loop.time()
            try:
                # Only the client is awaited here: no database statement can be cancelled.
                async with asyncio.timeout(seconds) as self._clock:
                    return await self._receive()
            except TimeoutError:
                pass
            finally:
                self._clock = None
                elapsed = loop.time() - began
                self._waited += elapsed
            if self._waited >= self._deadline:
                raise _too_slow(f"The body took longer than {self._pace.seconds:g} seconds.")
            if self._waited >= self._next_look and not self._is_given_up:
                self._check_pace(held, is_late=elapsed - seconds > _LATE_SECONDS)
        raise no_room()

    def _check_pace(self, held: HeldBody, *, is_late: bool) -> None:
        self._next_look = self._waited + LOOK_SECONDS
        held.count()
        if is_late:
            self._looks.clear()
        self._looks.append(self._received)
        if len(self._looks) > _LOOKS + _SLACK_LOOKS:
            least = self._pace.min_bytes_per_second
            if self._received - self._looks.pop(0) < least * _LOOKS:
                raise _too_slow(f"The body came more slowly than {least} bytes a second.")

    def _give_up(self) -> None:
        self._is_given_up = True
        if self._clock is not None and not self._clock.expired():
            self._clock.reschedule(asyncio.get_running_loop().time())


async def _disconnected() -> Message:
    return {"type": "http.disconnect"}


def _too_slow(message: str) -> DeadlineExceeded:
    error = DeadlineExceeded(message, Reason.REQUEST_TOO_SLOW, http=408)
    error.ends_connection = True
    return error
