"""Where a request came from."""

from functools import lru_cache
from ipaddress import ip_address

from starlette.types import Scope


def address_of(scope: Scope) -> str | None:
    """Return the IP address of the caller; of a proxy that is trusted, what it says it is."""
    client = scope.get("client")
    return _parsed(client[0]) if client else None


@lru_cache(maxsize=4_096)
def _parsed(host: str) -> str | None:
    """Return an address in its one spelling; a proxy may have passed on anything."""
    try:
        return str(ip_address(host))
    except ValueError:
        return None
