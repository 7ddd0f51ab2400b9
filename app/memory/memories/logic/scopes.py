"""The canonical text and the digest of a scope."""

import hashlib
import json
from collections.abc import Mapping


def canonical(scope: Mapping[str, str]) -> bytes:
    """Return the one text of a scope, whatever the order of its pairs."""
    return json.dumps(scope, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def scope_hash(scope: Mapping[str, str]) -> bytes:
    """Return the digest that identifies a scope in the database."""
    return hashlib.sha256(canonical(scope)).digest()
