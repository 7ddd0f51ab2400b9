"""The address of a request's sender."""

from functools import lru_cache
from ipaddress import ip_address

from starlette.types import Scope


def address_of(scope: Scope) -> str | None:
    """Return the caller's IP address; behind a trusted proxy, the one the proxy reports."""
    client = scope.get("client")
    return _parsed(client[0]) if client else None


@lru_cache(maxsize=4_096)
def _parsed(host: str) -> str | None:
    """Return an address in canonical form, or None: a proxy may pass on anything."""
    try:
        return str(ip_address(host))
    except ValueError:
        return None
