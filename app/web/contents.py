"""Content headers: ranges and digests. Source: RFC 9110, 14; RFC 9530."""

import base64
import binascii
import re
from collections.abc import Mapping

from app.kernel.errors import InvalidArgument, Reason

_RANGE = re.compile(r"bytes=(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))")
_SHA256 = re.compile(r"(?:^|,)\s*sha-256\s*=\s*:([A-Za-z0-9+/]{43}=):\s*(?=,|$)")
_UNSATISFIABLE = 416


def read_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return the start and the exclusive end of a requested range of bytes.

    Return None for the whole content: no range, or several, malformed or non-byte ranges.

    Raises:
        InvalidArgument: the range is empty; with status 416.
    """
    match = _RANGE.fullmatch((header or "").strip())
    if match is None:
        return None
    first, last, suffix = match.groups()
    if suffix is not None:
        start, end = max(0, size - int(suffix)), size
    else:
        start, end = int(first), min(int(last) + 1, size) if last else size
        if last and int(last) < start:
            return None
    if start >= end:
        raise InvalidArgument(
            f"Range: the content has {size} bytes.",
            Reason.RANGE_NOT_SATISFIABLE,
            metadata={"sizeBytes": str(size)},
            http=_UNSATISFIABLE,
        )
    return start, end


def check_whole(headers: Mapping[str, str]) -> None:
    """Refuse a body that is only a part of its content.

    Raises:
        InvalidArgument: the headers declare a part.
    """
    if "content-range" in headers:
        # Required by RFC 9110, 14.5: otherwise the part would replace the whole.
        raise InvalidArgument.of_field("Content-Range", "must be absent; send the whole content.")


def read_digest(header: str | None) -> bytes | None:
    """Return the SHA-256 of a `Content-Digest` header, or None without the header.

    Raises:
        InvalidArgument: the header has no readable SHA-256, but its sender expects a check.
    """
    if not header:
        return None
    match = _SHA256.search(header)
    try:
        return base64.b64decode(match[1], validate=True) if match else _refuse()
    except binascii.Error:
        return _refuse()


def write_digest(sha256: bytes) -> str:
    """Return a digest in the form of `Content-Digest` and `Repr-Digest`."""
    return f"sha-256=:{base64.b64encode(sha256).decode()}:"


def _refuse() -> bytes:
    raise InvalidArgument.of_field(
        "Content-Digest", "must have `sha-256=:` and base64, then `:`; no other digest is compared."
    )
