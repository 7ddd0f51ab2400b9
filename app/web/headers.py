"""The headers of a request as the server hands them over: names in lower case, values in bytes."""

from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.types import Scope

_DOCUMENTS = ("/openapi.json", "/docs")
_ASSETS = "/docs/assets/"


def header(scope: Scope, name: bytes) -> bytes | None:
    """Return the value of a header, the first where there are several; None without it.

    Costs a fifth of `starlette.datastructures.Headers`, and is called several times a request.
    """
    for found, value in scope["headers"]:
        if found == name:
            return bytes(value)
    return None


def headers(scope: Scope, name: bytes) -> list[bytes]:
    """Return every value of a header."""
    return [value for found, value in scope["headers"] if found == name]


def authority(written: bytes, default_port: int) -> tuple[bytes, int] | None:
    """Return host, in lower case, and port as `Host` has them; None of what is none."""
    try:
        found = urlsplit(b"//" + written)
        port = found.port or default_port
    except ValueError:
        return None
    return (found.hostname, port) if found.hostname else None


def has_one_host(url: bytes, given: list[tuple[bytes, bytes]]) -> bool:
    """Report whether a request names at most one host: in its target or in headers.

    Source: RFC 9112, sections 3.2 and 3.2.2.
    """
    named = [value for name, value in given if name == b"host"]
    if not url.startswith(b"/") and b"://" in url:
        named.append(url.partition(b"://")[2].partition(b"/")[0])
    return len(set(named)) <= 1


def has_body(given: list[tuple[bytes, bytes]]) -> bool:
    """Report whether a request of these headers has a body."""
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and bool(value.strip(b"0")))
        for name, value in given
    )


def protect(answer: MutableHeaders, path: str = "") -> None:
    """Set what every answer has: it is what it is declared to be, and no cache keeps it.

    The documents are the same for everyone, and may be kept.
    """
    answer["x-content-type-options"] = "nosniff"
    if path not in _DOCUMENTS and not path.startswith(_ASSETS):
        answer["cache-control"] = "no-store"
