"""The memory of a process about engines: recent rows, location, restore under way."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from cachetools import LRUCache
from typing_extensions import override

from app.adapters.concurrency import SingleFlight
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.auth import EngineDirectory, Reach
from app.kernel.names import WILDCARD, EngineName, LocationName
from app.platform.engines.store import repository
from app.platform.engines.store.repository import is_restoring
from app.platform.engines.store.tables import EngineRow, is_detached

MAX_KNOWN = 10_000
"""Limit for cached engines; the oldest are evicted."""
_MAX_WEIGHT = 32 * 1024 * 1024
"""Limit for all engines together, in characters of their configurations."""
_MAX_LOCATIONS = 100_000
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

    def is_under(self, location: LocationName) -> bool:
        is_there = location.project in {self.row.project, WILDCARD}
        return is_there and location.location in {self.row.location, WILDCARD}


class EngineCache:
    """The engines that one process has written to lately.

    An entry may be outdated: the caller's statement must check that the engine still has this
    version, or the caller asks for a recent one. An engine with a very large configuration is not
    cached.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._known: LRUCache[int, _Known] = LRUCache(
            _MAX_WEIGHT, getsizeof=lambda known: known.weight
        )
        self._reading = SingleFlight[EngineRow]()
        self._changes: LRUCache[int, int] = LRUCache(MAX_KNOWN)

    @classmethod
    def of(cls, resources: Resources) -> "EngineCache":
        """Return the cache of the process."""
        engines: EngineCache = resources.kept.setdefault(cls, cls())
        return engines

    def find(self, name: EngineName) -> EngineRow | None:
        """Return a cached engine whose location matches its name."""
        known = self._known.get(name.engine)
        return known.row if known is not None and known.is_under(name.parent) else None

    def recent(self, name: EngineName) -> EngineRow | None:
        """Return a cached engine that was read within the last second."""
        row = self.find(name)
        if row is None:
            return None
        age = self._monotonic() - self._known[name.engine].seconds
        return row if age < _RECENT_SECONDS else None

    async def read_recent(self, db: Database, name: EngineName) -> EngineRow:
        """Return a `recent` engine, or read it, once for all who ask at a time."""
        # A reading that began before a change is not for those who ask after it.
        changes = self._changes.get(name.engine, 0)

        async def read() -> EngineRow:
            async with db.snapshot() as session:
                row = await repository.get(session, name)
            if self._changes.get(name.engine, 0) == changes:
                self.note(row)
            return row

        recent = self.recent(name)
        return recent or await self._reading.result(f"{name} {changes}".encode(), read)

    def forget(self, engine_id: int) -> None:
        """Drop an engine, which this process has changed."""
        self._known.pop(engine_id, None)
        self._changes[engine_id] = self._changes.get(engine_id, 0) + 1

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


class RestoringEngines:
    """The engines that one process has recently read and that were not being restored.

    Each engine is read separately: a request for it must not depend on the nodes of others. Only
    reads rely on this: an engine is empty when its restore begins.
    """

    def __init__(self, db: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._monotonic = monotonic
        self._settled_at: LRUCache[int, float] = LRUCache(MAX_KNOWN)
        """The time of the reading, by engine."""
        self._reading = SingleFlight[bool]()

    @classmethod
    def of(cls, resources: Resources) -> "RestoringEngines":
        """Return the instance of the process."""
        kept: RestoringEngines = resources.kept.setdefault(cls, cls(resources.db))
        return kept

    def note(self, engine_id: int) -> None:
        """Drop the reading of an engine whose restore this process has begun."""
        self._settled_at.pop(engine_id, None)

    async def check(self, engine: EngineName) -> None:
        """Raise FailedPrecondition if an engine is being restored."""
        now = self._monotonic()
        settled_at = self._settled_at.get(engine.engine)
        if settled_at is not None and now - settled_at <= _RECENT_SECONDS:
            return
        key = str(engine.engine).encode()
        if await self._reading.result(key, lambda: is_restoring(self._db, engine.engine)):
            raise repository.under_restore(engine)
        self._settled_at[engine.engine] = now


@dataclass(frozen=True)
class Directory(EngineDirectory):
    """The locations of engines. An engine never moves, so each is read once per process."""

    db: Database
    restoring: RestoringEngines
    _known: dict[int, LocationName] = field(default_factory=dict)

    @override
    async def location_of(self, engine_id: int, reach: Reach) -> LocationName | None:
        if reach.engines is not None and engine_id not in reach.engines:
            return None
        await self.db.nodes.enter(engine_id)
        location = self._known.get(engine_id)
        if location is None or not reach.has_project(location.project):
            # Looked up again even if known: the response time must not reveal what exists.
            location = await self._look_up(engine_id)
        return location if location is not None and reach.has_project(location.project) else None

    @override
    async def check_settled(self, engine: EngineName) -> None:
        await self.restoring.check(engine)

    async def _look_up(self, engine_id: int) -> LocationName | None:
        async with self.db.snapshot() as session:
            location = await repository.find_location(session, engine_id)
        if location is not None:
            if len(self._known) >= _MAX_LOCATIONS:
                self._known.clear()
            self._known[engine_id] = location
        return location
