"""The digest of a scope."""

import hashlib
import json
from collections.abc import Mapping


def scope_hash(scope: Mapping[str, str]) -> bytes:
    """Return the digest that identifies a scope in the database."""
    text = json.dumps(scope, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).digest()
