"""Checks of a request's head that the parser does not make.

Source: RFC 9112, sections 3.2 and 6.3.
"""

Headers = list[tuple[bytes, bytes]]
"""Names in lower case, and values."""


def has_one_host(url: bytes, given: Headers) -> bool:
    """Return True if a request names at most one host, in its target or in headers."""
    named = [value for name, value in given if name == b"host"]
    if not url.startswith(b"/") and b"://" in url:
        named.append(url.partition(b"://")[2].partition(b"/")[0])
    return len(set(named)) <= 1


def has_body(given: Headers) -> bool:
    """Return True if a request with these headers has a body."""
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and bool(value.strip(b"0")))
        for name, value in given
    )
