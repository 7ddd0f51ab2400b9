"""Limits on the use of the service, and the port through which routes enforce them."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Protocol

from app.kernel.auth import Caller
from app.kernel.errors import Reason, ResourceExhausted

MAX_COST = 20
"""The highest cost of a request, in units; every rate leaves room for one such request."""


class Counted(StrEnum):
    """The quantities that an engine's quotas limit."""

    MEMORIES = "memories"
    SESSIONS = "sessions"
    EVENTS = "events"
    BYTES = "bytes"
    ARTIFACT_BYTES = "artifact_bytes"


class HeldBody(Protocol):
    """A request body or a long answer, counted against the limits on bodies."""

    def keep(self, size: int) -> None:
        """Count `size` bytes in all until the body is released.

        Raises:
            ResourceExhausted: the key or the process already keeps too many.
        """
        ...

    def count(self) -> None:
        """Count the body among the slow ones, once, until it is complete or released.

        Raises:
            ResourceExhausted: the key or the process already has too many.
        """
        ...

    def end(self) -> None:
        """Note that the body is complete."""
        ...

    def release(self) -> None:
        """Release the body: it no longer counts."""
        ...


class Limits(Protocol):
    """The port that enforces rates, concurrency and quotas."""

    async def charge(self, caller: Caller, engine_id: int | None, cost: int) -> None:
        """Charge the cost of a request, in units, to the key's rate and to the engine's, if any.

        Raises:
            ResourceExhausted: too little is left; the error gives the time to retry.
        """
        ...

    def occupy(self, caller: Caller) -> AbstractContextManager[None]:
        """Hold one of the key's slots for costly requests while the block runs."""
        ...

    def hold_body(
        self, caller: Caller | None, address: str | None, give_up: Callable[[], None]
    ) -> HeldBody:
        """Register a body before it is read, until it is released.

        Without a `caller`, the body counts for its address. `give_up` stops waiting for the rest of
        the body. It is called at most once, before the body is complete, if another connection
        needs the slot.
        """
        ...

    def hold_answer(self, caller: Caller | None, address: str | None, size: int) -> HeldBody:
        """Count the bytes of a long answer like the bytes of a body, until it is released."""
        ...

    def give_up_body(self, *, slow: bool) -> bool:
        """Give up a body of the caller with the most open bodies; False if that number is small."""
        ...

    async def check_quota(self, engine_id: int, added: Counted) -> None:
        """Check that the quotas of an engine leave room for more, of `added` and of bytes.

        Raises:
            ResourceExhausted: a quota is reached; the error names it.
        """
        ...


def exhausted(message: str, quota: str, **numbers: int) -> ResourceExhausted:
    """Return the error of a reached limit; it has no retry time."""
    metadata = {"quota": quota, **{name: str(number) for name, number in numbers.items()}}
    return ResourceExhausted(message, Reason.QUOTA_EXHAUSTED, metadata=metadata)
