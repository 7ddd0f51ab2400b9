"""What is written down about a request, and the port through which it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from app.kernel.errors import ServiceError


@dataclass(frozen=True)
class Audited:
    """What was done, as the audit log tells of it: who, what, on which resource, from where."""

    caller: str | None
    """The id of the key; `jwt:` and the subject, of a token; `command-line`; None: the service."""
    method: str
    """The API method, such as `createMemory`; of work that has ended, its kind."""
    resource: str
    """The name of what the path names, without what cannot be a name."""
    engine_id: int | None
    """The engine that it is on, as long as the caller reaches it."""
    address: str | None = None
    """The IP address where the request came from."""
    request_id: str | None = None


class Auditor(Protocol):
    """Keeps the audit log."""

    def columns(self, audited: Audited, told: Mapping[str, str]) -> dict[str, Any]:
        """Return the row of a request that succeeds; `told` is what only its transaction knows."""
        ...

    async def record(self, session: Any, audited: Audited) -> None:  # noqa: ANN401 - core knows no SQL
        """Write down a request that succeeds, in the transaction of its change."""
        ...

    async def record_alone(self, audited: Audited, error: ServiceError | None) -> None:
        """Write down a request that changed nothing, with what it came to. Opens a transaction.

        Called for changes that were refused and, where the settings want it, for reads.
        """
        ...
