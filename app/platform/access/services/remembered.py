"""Keys that have read the metrics lately; they keep access while no key can be looked up.

The metrics explain such an outage, and operators need them most then.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.adapters.resources import Resources
from app.platform.access.logic.credentials import hash_of
from app.platform.access.services.lookups import KnownKey

_LIFE = timedelta(minutes=15)
_MAX_KEYS = 256
"""Limit for remembered keys; the oldest is evicted. Few keys read metrics."""


@dataclass(frozen=True)
class _Remembered:
    key: KnownKey
    version: int | None
    """The version of the keys at the lookup."""
    time: datetime


class MetricsReaders:
    """The metrics readers that one process remembers."""

    def __init__(self) -> None:
        self._kept: dict[bytes, _Remembered] = {}

    @classmethod
    def of(cls, resources: Resources) -> "MetricsReaders":
        """Return the readers of the process."""
        readers: MetricsReaders = resources.kept.setdefault(cls, cls())
        return readers

    def remember(self, secret: str, key: KnownKey, version: int | None, now: datetime) -> None:
        """Remember a key that was just looked up."""
        secret_hash = hash_of(secret)
        self._drop([secret_hash])
        if len(self._kept) >= _MAX_KEYS:
            self._drop([next(iter(self._kept))])
        self._kept[secret_hash] = _Remembered(key, version, now)

    def find(self, secret: str, version: int | None, now: datetime) -> KnownKey | None:
        """Return the remembered key of a secret, unless some key may have ended since.

        Args:
            secret: the secret sent.
            version: the version of the keys known to the process; None: unknown.
            now: the current time.
        """
        kept = self._kept.get(hash_of(secret))
        if kept is None or now - kept.time >= _LIFE or not kept.key.works(now):
            return None
        return kept.key if version in {None, kept.version} else None

    def forget(self, key_id: str) -> None:
        """Forget a key that has ended or has lost a secret."""
        self._drop(
            [digest for digest, kept in self._kept.items() if kept.key.caller.key_id == key_id]
        )

    def forget_secret(self, secret: str) -> None:
        """Forget a secret that is no longer valid."""
        self._drop([hash_of(secret)])

    def _drop(self, hashes: Iterable[bytes]) -> None:
        for digest in hashes:
            self._kept.pop(digest, None)
