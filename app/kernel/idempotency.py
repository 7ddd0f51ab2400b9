"""Idempotency keys: an id that the caller chose, bound to the content of the request."""

import hashlib
import json
from dataclasses import dataclass
from datetime import timedelta


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
