"""Keys that have read the metrics lately: they may go on while no key can be looked up.

For the metrics tell why that is, and those who watch the service need them most then.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.adapters.resources import Resources
from app.platform.access.logic.credentials import hash_of
from app.platform.access.services.lookups import KnownKey

_LIFE = timedelta(minutes=15)
_MAX_KEYS = 256
"""The one that was remembered first gives way; few read metrics."""


@dataclass(frozen=True)
class _Remembered:
    key: KnownKey
    version: int | None
    """The version of the keys at the time of the look-up."""
    time: datetime


class MetricsReaders:
    """The readers of metrics that one process knows."""

    def __init__(self) -> None:
        self._kept: dict[bytes, _Remembered] = {}

    @classmethod
    def of(cls, resources: Resources) -> "MetricsReaders":
        """Return those of the process."""
        found: MetricsReaders = resources.kept.setdefault(cls, cls())
        return found

    def remember(self, secret: str, key: KnownKey, version: int | None, now: datetime) -> None:
        """Remember a key that was looked up just now."""
        secret_hash = hash_of(secret)
        self._drop([secret_hash])
        if len(self._kept) >= _MAX_KEYS:
            self._drop([next(iter(self._kept))])
        self._kept[secret_hash] = _Remembered(key, version, now)

    def find(self, secret: str, version: int | None, now: datetime) -> KnownKey | None:
        """Return the key of a secret, unless one may have ended since: it could be this one.

        Args:
            secret: what was sent.
            version: of the keys, as the process knows it; None: it does not.
            now: the present.
        """
        kept = self._kept.get(hash_of(secret))
        if kept is None or now - kept.time >= _LIFE or not kept.key.works(now):
            return None
        return kept.key if version in {None, kept.version} else None

    def forget(self, key_id: str) -> None:
        """Forget a key that has ended, or a secret of which has."""
        self._drop([one for one, kept in self._kept.items() if kept.key.caller.key_id == key_id])

    def forget_secret(self, secret: str) -> None:
        """Forget a secret that stands for nothing any more."""
        self._drop([hash_of(secret)])

    def _drop(self, hashes: Iterable[bytes]) -> None:
        for one in hashes:
            self._kept.pop(one, None)
