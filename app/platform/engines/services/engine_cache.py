"""Cache of the engines last read, for statements that verify the version themselves."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import LRUCache

from app.adapters.resources import Resources
from app.kernel.names import WILDCARD, EngineName
from app.platform.engines.store.tables import EngineRow, is_detached

MAX_KNOWN = 10_000
"""Limit for cached engines; the oldest are evicted."""
_MAX_WEIGHT = 32 * 1024 * 1024
"""Limit for all engines together, in characters of their configurations."""
_LARGEST = 256 * 1024
"""Limit for one engine. Request size bounds a configuration: 8 MiB unless set otherwise."""
_VALUE = 8
"""Weight of a value without characters."""
_RECENT_SECONDS = 0.75
"""Age up to which a cached engine counts as recent, as for the keys of callers."""


@dataclass(frozen=True)
class _Known:
    row: EngineRow
    weight: int
    seconds: float
    """Time of the note, by the monotonic clock."""


class EngineCache:
    """The engines that one process has written to lately.

    An entry may be outdated: the caller's statement must check that the engine still has this
    version, or the caller asks for a recent one. The cache is bounded by number and by size of
    configurations; an engine with a very large configuration is not cached, but read each time.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._known: LRUCache[int, _Known] = LRUCache(
            _MAX_WEIGHT, getsizeof=lambda known: known.weight
        )

    @classmethod
    def of(cls, resources: Resources) -> "EngineCache":
        """Return the cache of the process."""
        engines: EngineCache = resources.kept.setdefault(cls, cls())
        return engines

    def find(self, name: EngineName) -> EngineRow | None:
        """Return a cached engine whose location matches its name."""
        known = self._known.get(name.engine)
        if known is None:
            return None
        row = known.row
        is_there = name.parent.project in {row.project, WILDCARD}
        return row if is_there and name.parent.location in {row.location, WILDCARD} else None

    def recent(self, name: EngineName) -> EngineRow | None:
        """Return a cached engine that was read within the last second."""
        row = self.find(name)
        if row is None:
            return None
        age = self._monotonic() - self._known[name.engine].seconds
        return row if age < _RECENT_SECONDS else None

    def forget(self, engine_id: int) -> None:
        """Drop an engine, which this process has changed."""
        self._known.pop(engine_id, None)

    def note(self, row: EngineRow) -> None:
        """Cache an engine that was just read, by a transaction that has ended.

        A transaction that fails at its end expires the values of its rows.
        """
        if not is_detached(row):
            raise RuntimeError(
                "An engine is cached before the end of the transaction that read it."
            )
        before = self._known.pop(row.engine_id, None)
        # Measured once per version: many requests note the same engine.
        is_same = before is not None and before.row.version == row.version
        weight = before.weight if before is not None and is_same else _weight(row)
        if weight > _LARGEST:
            return
        self._known[row.engine_id] = _Known(row, weight, self._monotonic())
        if len(self._known) > MAX_KNOWN:
            self._known.popitem()


def _weight(row: EngineRow) -> int:
    """Return the approximate size of the values set by users, exact only up to `_LARGEST`."""
    left: list[object] = [row.bank_config, row.labels, row.encryption_spec]
    left += [row.display_name, row.description]
    weight = 0
    while left and weight <= _LARGEST:
        value = left.pop()
        if isinstance(value, dict):
            left += [*value, *value.values()]
        elif isinstance(value, list):
            left += value
        weight += len(value) if isinstance(value, str) else _VALUE
    return weight
