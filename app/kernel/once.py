"""Requests that are to be done once: an id chosen by the caller, bound to what was asked."""

import hashlib
import json
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class Once:
    """A request that its caller wants done once: who asks, by which id, and for what."""

    caller: str
    request_id: str
    request_hash: bytes
    keep: timedelta

    @staticmethod
    def hash_of(request: object) -> bytes:
        """Return the digest of a JSON value, whatever the order of its keys."""
        text = json.dumps(request, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).digest()
