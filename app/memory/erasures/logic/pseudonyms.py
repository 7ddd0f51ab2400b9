"""Pseudonyms of scopes, by a keyed digest: a holder of the key can test a guess."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from app.kernel.ids import canonical

_ALIAS_CHARS = 12
_ID_CHARS = 16
_PREFIX = "hmac-sha256:"


@dataclass(frozen=True, repr=False)
class Pseudonyms:
    """The pseudonyms that one key makes."""

    key: bytes

    @property
    def key_id(self) -> str:
        """The id of the key; it does not reveal the key."""
        return hashlib.sha256(b"pseudonym-key:" + self.key).hexdigest()[:_ID_CHARS]

    def of(self, scope: Mapping[str, str]) -> str:
        """Return the pseudonym of a scope."""
        return _PREFIX + hmac.new(self.key, canonical(scope), hashlib.sha256).hexdigest()


def alias_of(pseudonym: str) -> str:
    """Return the short form that replaces names."""
    return f"erased-{pseudonym.removeprefix(_PREFIX)[:_ALIAS_CHARS]}"
