"""Bodies that come in: counted while they do, and bounded in how slowly they may.

Only the time counts in which the service waits for the client. What a body counts for, and when
that is too much, is decided by `app.kernel.limits`; here, it is told and obeyed.
"""

import asyncio
from dataclasses import dataclass
from typing import Self

from starlette.types import Message, Receive, Scope

from app.kernel.auth import Caller
from app.kernel.errors import DeadlineExceeded, Reason, ServiceError
from app.kernel.limits import HeldBody, Limits
from app.web.address import address_of
from app.web.headers import header
from app.web.room import no_room

PIECE_BYTES = 64 * 1024
"""What is kept of a body that is taken piece by piece; of others, more is counted."""
_LOOK_SECONDS = 1.0
_LOOKS = 5
"""For which the pace must suffice."""
_SLACK_LOOKS = 1
"""Over which it is measured besides: what comes in bursts may fall on either side of a look."""
_LATE_SECONDS = 0.5
"""A look that is later than this tells of this process, not of the client."""
_SHORTEST_SECONDS = 0.001


@dataclass(frozen=True)
class Pace:
    """How slowly a body may come.

    Attributes:
        seconds: for the whole of it; piece by piece, for each of them.
        min_bytes_per_second: once it has been slow for some seconds; 0: no bound.
    """

    seconds: float
    min_bytes_per_second: int


class Incoming:
    """A body that is received; within a `with` block, after which it counts no more.

    Args:
        scope: of its request.
        receive: the server's.
        pace: that the client must keep.
        is_streamed: whether it is taken piece by piece.
    """

    def __init__(self, scope: Scope, receive: Receive, pace: Pace, *, is_streamed: bool) -> None:
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
        """Runs while a message is waited for."""
        self._has_ended = False
        self._received = 0
        self._kept = PIECE_BYTES
        """Bytes from which on more must be asked for."""
        self._waited = 0.0
        self._deadline = pace.seconds
        self._next_look = _LOOK_SECONDS
        self._looks = [0]
        """What had been received at the last looks, a second apart."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def release(self) -> None:
        """Count it no more: what came of it is not kept any longer."""
        if self._held is not None:
            self._held.release()
            self._held = None

    async def receive(self) -> Message:
        """Return the next message, as the server has it.

        Raises:
            DeadlineExceeded: it comes too slowly.
            ResourceExhausted: too many bodies are open, or they are too long together.
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
        """Receive nothing more; refer to nothing that refers to this, either."""
        self.release()
        self._has_ended = True
        self._receive = _gone

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
                # Nothing but the client is waited for here: no statement can be broken off.
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
                self._look(held, is_late=elapsed - seconds > _LATE_SECONDS)
        raise no_room()

    def _look(self, held: HeldBody, *, is_late: bool) -> None:
        self._next_look = self._waited + _LOOK_SECONDS
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


async def _gone() -> Message:
    return {"type": "http.disconnect"}


def _too_slow(message: str) -> DeadlineExceeded:
    error = DeadlineExceeded(message, Reason.REQUEST_TOO_SLOW, http=408)
    error.ends_connection = True
    return error
