"""What bounds the use of the service, and the port through which routes ask."""

from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Protocol

from app.core.auth import Caller

MAX_COST = 20
"""Units that a request may cost at most: every rate has room for one of them."""


class Counted(StrEnum):
    """What an engine may have a bounded amount of."""

    MEMORIES = "memories"
    SESSIONS = "sessions"
    EVENTS = "events"
    BYTES = "bytes"
    ARTIFACT_BYTES = "artifact_bytes"


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

    async def check_quota(self, engine_id: int, added: Counted) -> None:
        """Make sure that an engine may have more, of `added` and of bytes.

        Raises:
            ResourceExhausted: it may not; names the quota.
        """
        ...
