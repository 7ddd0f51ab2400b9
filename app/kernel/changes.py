"""The parts of a request that change a resource safely: update mask, etag, idempotency key.

Source of the mask: google.protobuf.FieldMask; AIP-134, "Update masks".
"""

import hashlib
import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from app.kernel.errors import Aborted, InvalidArgument, Reason

FIELD = "updateMask"
WILDCARD = "*"
MAX_MASK_CHARS = 4096
_UPPER = re.compile(r"[A-Z]")


def parse_mask(text: str | None) -> tuple[str, ...] | None:
    """Return the paths in snake_case, each once, in their order. None: no mask was sent.

    Raises:
        InvalidArgument: a path is empty, or the mask is too long.
    """
    if text is None or not text.strip():
        return None
    if len(text) > MAX_MASK_CHARS:
        raise InvalidArgument.of_field(FIELD, f"must have at most {MAX_MASK_CHARS} characters.")
    paths = [_snake(path.strip()) for path in text.split(",")]
    if not all(paths):
        raise InvalidArgument.of_field(FIELD, "must be paths separated by commas, none empty.")
    return tuple(dict.fromkeys(paths))


def check(paths: Collection[str], allowed: Collection[str]) -> frozenset[str]:
    """Return the fields to change: `paths`, with `*` standing for all of `allowed`.

    Raises:
        InvalidArgument: a path is not allowed; the error lists the allowed ones.
    """
    if WILDCARD in paths:
        return frozenset(allowed)
    if not set(paths) <= set(allowed):
        names = ", ".join(sorted(allowed))
        raise InvalidArgument.of_field(FIELD, f"accepts {WILDCARD} or any of: {names}.")
    return frozenset(paths)


def changed_fields(
    text: str | None, sent: Collection[str], allowed: Collection[str]
) -> frozenset[str]:
    """Return the fields that a request changes: the paths of its mask, or all fields sent."""
    paths = parse_mask(text)
    return frozenset(sent) if paths is None else check(paths, allowed)


def _snake(path: str) -> str:
    return _UPPER.sub(lambda match: "_" + match.group().lower(), path)


def check_etag(version: int, etag: str | None) -> None:
    """Refuse a change if the caller has read another version; `*` matches any."""
    if etag is not None and etag not in {str(version), "*"}:
        raise Aborted("etag: the resource was changed since; read it again.", Reason.ETAG_STALE)


@dataclass(frozen=True)
class IdempotencyKey:
    """The idempotency key of a request: its caller, request id and content digest."""

    caller: str
    request_id: str
    request_hash: bytes
    keep: timedelta


def digest_of(request: object) -> bytes:
    """Return the digest of a JSON value, independent of the order of its keys."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).digest()
