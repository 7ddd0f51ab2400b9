"""Headers of contents: parts of them, and their digests. Source: RFC 9110, 14; RFC 9530."""

import base64
import binascii
import re
from collections.abc import Mapping

from app.kernel.errors import InvalidArgument, Reason

_RANGE = re.compile(r"bytes=(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))")
_SHA256 = re.compile(r"(?:^|,)\s*sha-256\s*=\s*:([A-Za-z0-9+/]{43}=):\s*(?=,|$)")
_UNSATISFIABLE = 416


def read_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return where the part begins that is asked for, and where it ends: behind its last byte.

    None is the whole: for several parts, for other units, and for what is no range, too.

    Raises:
        InvalidArgument: there is nothing of the part; with status 416.
    """
    found = _RANGE.fullmatch((header or "").strip())
    if found is None:
        return None
    first, last, suffix = found.groups()
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
    """Refuse a body that is a part of what it would be kept as.

    Raises:
        InvalidArgument: it is.
    """
    if "content-range" in headers:
        # As RFC 9110, 14.5, wants it: the part would be taken for the whole.
        raise InvalidArgument.of_field("Content-Range", "must not be sent; send the whole.")


def read_digest(header: str | None) -> bytes | None:
    """Return the SHA-256 that a `Content-Digest` has.

    Raises:
        InvalidArgument: it has none, or one that cannot be read: who sends one wants it compared.
    """
    if not header:
        return None
    found = _SHA256.search(header)
    try:
        return base64.b64decode(found[1], validate=True) if found else _refuse()
    except binascii.Error:
        return _refuse()


def write_digest(sha256: bytes) -> str:
    """Return a digest as `Content-Digest` and `Repr-Digest` have it."""
    return f"sha-256=:{base64.b64encode(sha256).decode()}:"


def _refuse() -> bytes:
    raise InvalidArgument.of_field(
        "Content-Digest", "must have `sha-256=:` and base64, then `:`; no other digest is compared."
    )
