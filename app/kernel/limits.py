"""What bounds the use of the service, and the port through which routes ask."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Protocol

from app.kernel.auth import Caller
from app.kernel.errors import Reason, ResourceExhausted

MAX_COST = 20
"""Units that a request may cost at most: every rate has room for one of them."""


class Counted(StrEnum):
    """What an engine may have a bounded amount of."""

    MEMORIES = "memories"
    SESSIONS = "sessions"
    EVENTS = "events"
    BYTES = "bytes"
    ARTIFACT_BYTES = "artifact_bytes"


class HeldBody(Protocol):
    """The body of a request, as it counts against the bounds on bodies."""

    def keep(self, size: int) -> None:
        """Count so many bytes, in all, until it is released.

        Raises:
            ResourceExhausted: its key, or the process, keeps too many already.
        """
        ...

    def count(self) -> None:
        """Count it among those that are slow to come; once, until it is there or released.

        Raises:
            ResourceExhausted: its key, or the process, has too many already.
        """
        ...

    def end(self) -> None:
        """Note that all of it is there."""
        ...

    def release(self) -> None:
        """Count nothing of it any more."""
        ...


class Limits(Protocol):
    """Says no to who asks for too much."""

    async def charge(self, caller: Caller, engine_id: int | None, cost: int) -> None:
        """Take the cost of a request from what the key may use, and from what the engine may.

        Args:
            caller: who asks.
            engine_id: an engine that the caller reaches; None: the request concerns none.
            cost: in units.

        Raises:
            ResourceExhausted: there is not that much left; says when to try again.
        """
        ...

    def occupy(self, caller: Caller) -> AbstractContextManager[None]:
        """Hold one of the key's places for costly requests while the block runs.

        Raises:
            ResourceExhausted: all are taken.
        """
        ...

    def hold_body(
        self, caller: Caller | None, address: str | None, give_up: Callable[[], None]
    ) -> HeldBody:
        """Hold a body that is to be read, until it is released.

        Args:
            caller: whose it is; None where no key is needed: then it is its address's.
            address: where it comes from.
            give_up: called at most once, before the end of the body, where another connection
                needs the place: what is still to come shall not be waited for.
        """
        ...

    def give_up_body(self, *, slow: bool) -> bool:
        """Give up a body of the caller that has most of them open, unless these are few.

        Args:
            slow: whether those alone are looked at that are slow to come.

        Returns:
            Whether there was one.
        """
        ...

    async def check_quota(self, engine_id: int, added: Counted) -> None:
        """Make sure that an engine may have more, of `added` and of bytes.

        Raises:
            ResourceExhausted: it may not; names the quota.
        """
        ...


def exhausted(message: str, quota: str, **numbers: int) -> ResourceExhausted:
    """Return what says that something has as much as it may; no time is known when it may more."""
    metadata = {"quota": quota, **{name: str(number) for name, number in numbers.items()}}
    return ResourceExhausted(message, Reason.QUOTA_EXHAUSTED, metadata=metadata)
