"""Checks of a request's head in addition to the parser's.

Source: RFC 9112, sections 3.2 and 6.3.
"""

Headers = list[tuple[bytes, bytes]]
"""Names in lower case, and values."""


def has_one_host(version: str, url: bytes, given: Headers) -> bool:
    """Return True if a request has one `Host`, and no different host in its target.

    HTTP/1.0 does not require the header.
    """
    named = [value for name, value in given if name == b"host"]
    if len(named) != 1:
        return not named and version == "1.0"
    if url.startswith(b"/") or b"://" not in url:
        return True
    return url.partition(b"://")[2].partition(b"/")[0] == named[0]


def has_body(given: Headers) -> bool:
    """Return True if a request with these headers has a body."""
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and bool(value.strip(b"0")))
        for name, value in given
    )
