"""The canonical text and the digest of a scope, and its bucket."""

import hashlib
import json
from collections.abc import Mapping, Sequence

from app.kernel.ids import NO_BUCKET

_BUCKET_BITS = 10


def canonical(scope: Mapping[str, str]) -> bytes:
    """Return the canonical text of a scope, independent of the order of its pairs."""
    return json.dumps(scope, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def scope_hash(scope: Mapping[str, str]) -> bytes:
    """Return the digest that identifies a scope in the database."""
    return hashlib.sha256(canonical(scope)).digest()


def bucket_of_hash(digest: bytes) -> int:
    """Return the bucket of a scope with this digest: its first ten bits."""
    return int.from_bytes(digest[:2]) >> (16 - _BUCKET_BITS)


def bucket_of_user(user_id: str) -> int:
    """Return the bucket of a user's sessions."""
    return bucket_of_hash(scope_hash({"user_id": user_id}))


def bucket_of_scopes(scopes: Mapping[str, Sequence[str]] | None) -> int:
    """Return the bucket of the only scope that the work concerns, by the values of its keys.

    Return `NO_BUCKET` for work that may concern several scopes.
    """
    if not scopes or any(len(values) != 1 for values in scopes.values()):
        return NO_BUCKET
    return bucket_of_hash(scope_hash({key: values[0] for key, values in scopes.items()}))
