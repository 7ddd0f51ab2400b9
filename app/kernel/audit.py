"""The audit record of a request, and the port that writes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from app.kernel.errors import ServiceError


@dataclass(frozen=True)
class Audited:
    """One entry of the audit log: the caller, method, resource and address."""

    caller: str | None
    """The API key's id, `jwt:` and a token's subject, or `command-line`; None: the service."""
    method: str
    """The API method, such as `createMemory`; for finished work, its kind."""
    resource: str
    """The resource name from the path, without segments that cannot be names."""
    engine_id: int | None
    """The engine of the request, if the caller can reach it."""
    address: str | None = None
    """The client's IP address."""
    request_id: str | None = None
    surface: str | None = None
    """The interface used by the request; None: the API itself."""


class Auditor(Protocol):
    """The port of the audit log."""

    def columns(self, audited: Audited, told: Mapping[str, str]) -> dict[str, Any]:
        """Return the row of a request; `told` holds values known only in its transaction."""
        ...

    async def record(self, session: Any, audited: Audited) -> None:  # noqa: ANN401 - core knows no SQL
        """Record a successful request in the transaction of its change."""
        ...

    async def record_alone(self, audited: Audited, error: ServiceError | None) -> None:
        """Record a request that changed nothing, with its outcome, in a separate transaction."""
        ...
